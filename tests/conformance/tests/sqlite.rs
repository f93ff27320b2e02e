//! The embedded engine does what every engine must do.

use conformance::{Engine, cases};
use std::sync::Arc;
use store_orders::store::sqlite::{ServerLock, SqliteStore};
use store_orders::store::{OperatorStore, Store};
use tempfile::TempDir;

/// A new store in a directory of its own, which a server has.
struct Embedded {
    store: Arc<SqliteStore>,
    _lock: ServerLock,
    directory: TempDir,
}

impl Embedded {
    fn new() -> anyhow::Result<Embedded> {
        let directory = tempfile::tempdir()?;
        let _lock = ServerLock::take(directory.path())?;
        Ok(Embedded { store: Arc::new(SqliteStore::open(directory.path())?), _lock, directory })
    }
}

impl Engine for Embedded {
    fn serving(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(Arc::clone(&self.store) as Arc<dyn Store>)
    }

    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        Ok(Box::new(SqliteStore::open_existing(self.directory.path())?))
    }
}

#[test]
fn sqlite_does_what_every_engine_must_do() {
    let cases = cases();
    assert!(!cases.is_empty());
    let failed: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let outcome = Embedded::new().and_then(|engine| (case.run)(&engine));
            outcome.err().map(|error| format!("{}: {error:#}", case.name))
        })
        .collect();
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}
