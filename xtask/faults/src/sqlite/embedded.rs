//! The one start of a scenario on the embedded store.

use crate::scenario::Tools;
use testbed::{DataDir, Key, ServerProcess};

/// A store in a directory of its own, with pending orders.
pub struct Embedded {
    /// The directory.
    pub data: DataDir,
    /// A key without a practical limit.
    pub key: Key,
    /// Removed with it.
    _directory: tempfile::TempDir,
}

impl Embedded {
    /// With orders from 1 to this one.
    pub fn new(tools: &Tools, orders: i64) -> anyhow::Result<Embedded> {
        let directory = tempfile::tempdir()?;
        let data = DataDir::at(&tools.program, &directory.path().join("data"));
        data.import_pending(1..=orders)?;
        let key = data.issue_enterprise_key("clients", u32::MAX, u32::MAX)?;
        Ok(Embedded { data, key, _directory: directory })
    }

    /// Serves it.
    pub fn serve(&self) -> anyhow::Result<ServerProcess> {
        self.data.serve(&["--log-level", "warning"])
    }
}
