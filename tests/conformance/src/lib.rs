//! What every engine of the store must do. A case asks an engine for a server's and a
//! command's access to a new store, and never which engine it is.
//!
//! | Module | Its job |
//! |---|---|
//! | `cases` | the cases, by what they are about |
//! | `listing` | the list and its changes, as a server reads them |
//! | `postgres` | PostgreSQL as such an engine, and what it alone must do |
//! | `records` | orders, pets and cancellations to store |
//! | `wait` | waiting for what a server does by itself |

mod cases;
mod listing;
pub mod postgres;
mod records;
mod wait;

use std::sync::Arc;
use store_orders::store::{OperatorStore, Store};

/// A new, empty store of one engine.
pub trait Engine: Sync {
    /// The store as a server that runs uses it. A second call may return the same or, on an
    /// engine that several servers can share, another one.
    fn serving(&self) -> anyhow::Result<Arc<dyn Store>>;

    /// The store as one command uses it, beside that server and other commands. It is used
    /// on the thread that asked for it, which belongs to no runtime.
    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>>;
}

/// One thing that every engine must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is, as a sentence in snake case.
    pub name: &'static str,
    /// Fails if the engine does not do it. It wants a new store, and a thread that belongs
    /// to no runtime.
    pub run: fn(&dyn Engine) -> anyhow::Result<()>,
}

/// Every case.
pub fn cases() -> Vec<Case> {
    cases::all()
}
