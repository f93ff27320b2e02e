//! The interface between cases and engines.

use crate::ServedStore;
use store_orders::store::OperatorStore;

/// A new, empty store of one engine.
pub trait Engine: Sync {
    /// Opens the store like a running server. A second call may return the same server or, if the
    /// engine supports several servers, a different one.
    fn server_store(&self) -> anyhow::Result<ServedStore>;

    /// Opens the store like a command that runs alongside servers and other commands. Use the
    /// result on the calling thread, which must not be a thread of a Tokio runtime.
    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>>;
}

/// A requirement that every engine must meet.
#[derive(Clone, Copy)]
pub struct Case {
    /// The requirement as a sentence in snake case.
    pub name: &'static str,
    /// Returns an error if the engine violates the requirement. Needs a new store and a thread that
    /// does not belong to a Tokio runtime.
    pub run: fn(&dyn Engine) -> anyhow::Result<()>,
}
