//! The setup of scenarios on the embedded store.

use crate::scenario::Tools;
use testbed::{DataDir, Key, ServerProcess};

/// An embedded store with pending orders.
pub struct Embedded {
    pub data: DataDir,
    /// A key without a practical limit.
    pub key: Key,
    /// The store's directory. It is removed when `Embedded` is dropped.
    _directory: tempfile::TempDir,
}

impl Embedded {
    /// Creates a store with pending orders 1 to `orders`.
    pub fn new(tools: &Tools, orders: i64) -> anyhow::Result<Embedded> {
        let directory = tempfile::tempdir()?;
        let data = DataDir::at(&tools.program, &directory.path().join("data"));
        data.import_pending(1..=orders)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        Ok(Embedded { data, key, _directory: directory })
    }

    /// Starts a server on the store.
    pub fn serve(&self) -> anyhow::Result<ServerProcess> {
        self.data.serve(&["--log-level", "warning"])
    }
}
