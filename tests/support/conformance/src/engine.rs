//! An engine of the store, and one thing that it must do.

use crate::ServedStore;
use store_orders::store::OperatorStore;

/// A new, empty store of one engine.
pub trait Engine: Sync {
    /// The store as a server that runs uses it. A second call may return the same or, on an
    /// engine that several servers can share, another one.
    fn serving(&self) -> anyhow::Result<ServedStore>;

    /// The store as one command uses it, while that server and other commands run. It is used
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
