//! The operator's commands: the real program, each test in a directory of its
//! own.

mod accounts_and_keys;
mod imports;
mod orders;
mod refusals;

use crate::harness::said::Said;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use store_orders::store::sqlite::SqliteStore;
use tempfile::TempDir;

/// Somebody with a data directory and a shell.
struct Operator {
    directory: TempDir,
}

impl Operator {
    fn new() -> Operator {
        Operator { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The store, as the server opens it.
    fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.path("store-orders-data")).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_store-orders"));
        command.args(arguments).current_dir(self.directory.path());
        command.env_remove("STORE_ORDERS_DATA_DIR");
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    /// Imports orders of these ids, all pending.
    fn has_orders(&self, ids: impl IntoIterator<Item = i64>) {
        let rows: String = ids.into_iter().map(|id| format!("{id},1,1\n")).collect();
        let csv = format!("id,petId,quantity\n{rows}");
        self.run_with_input(&["orders", "import", "-"], csv.as_bytes()).done();
    }

    fn listed(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["list", "--json"]].concat();
        serde_json::from_value(self.run(&all).json()).unwrap()
    }

    fn order_ids(&self) -> Vec<i64> {
        self.listed(&["orders"]).iter().map(|order| order["id"].as_i64().unwrap()).collect()
    }
}
