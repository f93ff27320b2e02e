//! What every engine of the store must do. A case asks an engine for a server's and a
//! command's access to a new store, and never which engine it is.
//!
//! | Module | Its job |
//! |---|---|
//! | `cases` | the cases, by what they are about |
//! | `engine` | an engine, and one thing that it must do |
//! | `listing` | the list and its changes, as a server reads them |
//! | `postgres` | PostgreSQL as such an engine, and what it alone must do |
//! | `records` | orders, keys and cancellations to store |
//! | `served_store` | a server's store, whose calls block |
//! | `threads` | work on other threads |

/// A case for each of these functions, named after it.
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
