//! Conformance cases for the engines of the store. A case opens a new store in two ways: as a
//! running server does, and as an operator's command does. The trait `Engine` hides how an engine
//! does this, so the same cases run on every engine.
//!
//! | Module | Content |
//! |---|---|
//! | `cases` | the cases for all engines, by topic |
//! | `engine` | the interface that an engine implements, and the type of a case |
//! | `listing` | reads orders, accounts and keys as a server does, and orders as a command does |
//! | `postgres` | the PostgreSQL engine and its additional cases |
//! | `records` | test records: orders, keys and cancellations |
//! | `served_store` | a blocking interface to a server's store |
//! | `threads` | joins threads, and runs blocking work on a new thread |

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
