//! PostgreSQL under test: a server that somebody else started, in which each case has a
//! database of its own.
//!
//! | Module | Its job |
//! |---|---|
//! | `database` | a new database, and connections to it |
//! | `migrating`, `granting`, `checking`, `restoring`, `importing` | the cases |

mod database;

pub use database::{Database, PostgresUnderTest};

/// One thing that the store in PostgreSQL must do, beyond what every engine does.
#[derive(Clone, Copy)]
pub struct PostgresCase {
    /// What it is, as a sentence in snake case.
    pub name: &'static str,
    /// Fails if the store does not do it. It wants a thread that belongs to no runtime.
    pub run: fn(&PostgresUnderTest) -> anyhow::Result<()>,
}

/// Every case.
pub fn postgres_cases() -> Vec<PostgresCase> {
    Vec::new()
}
