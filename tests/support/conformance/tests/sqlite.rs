//! Runs all engine-independent cases on SQLite, the embedded engine. Each case is a test of the
//! same name.

use conformance::{Case, Engine, ServedStore, cases};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use store_orders::store::OperatorStore;
use store_orders::store::sqlite::{ServerLock, SqliteStore};
use tempfile::TempDir;

/// A new store in a temporary directory. It holds the lock that a running server takes.
struct Embedded {
    store: SqliteStore,
    _lock: ServerLock,
    directory: TempDir,
}

impl Embedded {
    fn new() -> anyhow::Result<Embedded> {
        let directory = tempfile::tempdir()?;
        let _lock = ServerLock::take(directory.path())?;
        Ok(Embedded { store: SqliteStore::open(directory.path())?, _lock, directory })
    }
}

impl Engine for Embedded {
    fn server_store(&self) -> anyhow::Result<ServedStore> {
        ServedStore::embedded(&self.store)
    }

    fn commands(&self) -> anyhow::Result<Box<dyn OperatorStore>> {
        Ok(Box::new(SqliteStore::open_existing(self.directory.path())?))
    }
}

fn main() -> ExitCode {
    let trial = |case: Case| {
        let run = move || Embedded::new().and_then(|engine| (case.run)(&engine));
        Trial::test(case.name, move || run().map_err(|error| format!("{error:#}").into()))
    };
    let trials = cases().into_iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
