//! Conformance cases for the engines of the store. An engine creates a new store for each case, and
//! opens the store like a server and like a command. So a case does not depend on the kind of
//! engine.
//!
//! | Module | Content |
//! |---|---|
//! | `cases` | the cases for all engines, by topic |
//! | `engine` | the traits of an engine and a case |
//! | `listing` | reads the list and its changes like a server |
//! | `postgres` | the PostgreSQL engine and its additional cases |
//! | `records` | test records: orders, keys and cancellations |
//! | `served_store` | a blocking interface to a server's store |
//! | `threads` | helpers for threads |

/// Creates a case for each of these functions, with the function's name.
macro_rules! cases {
    ($kind:ident: $($module:ident :: $case:ident),+ $(,)?) => {
        vec![$($kind { name: stringify!($case), run: $module::$case }),+]
    };
}

mod cases;
mod engine;
mod listing;
pub mod postgres;
mod records;
mod served_store;
mod threads;

pub use cases::all as cases;
pub use engine::{Case, Engine};
pub use served_store::ServedStore;
