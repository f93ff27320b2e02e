//! The interface to an engine (SQLite or PostgreSQL), so that the same test cases run on each
//! engine.

use crate::ServedStore;
use store_orders::store::OperatorStore;

/// A store of one engine, empty at the start of a test case.
pub trait Engine: Sync {
    /// Opens the store as a running server does. If the engine supports only one server, every call
    /// returns the store of that one server.
    fn server_store(&self) -> anyhow::Result<ServedStore>;

    /// Opens the store as a command does, even while servers run. Use the result on the calling
    /// thread, which must not be a thread of a Tokio runtime.
    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>>;
}

/// A requirement that every engine must meet.
#[derive(Clone, Copy)]
pub struct Case {
    /// The requirement as a sentence in snake case.
    pub name: &'static str,
    /// Returns an error if the engine violates the requirement. The engine's store must be new. The
    /// calling thread must not be a thread of a Tokio runtime.
    pub run: fn(&dyn Engine) -> anyhow::Result<()>,
}
