//! A server and an operator's commands on the same store, each a process.

use crate::harness::Key;
use crate::harness::program::{Program, QUIETLY, directory_with, until};
use std::path::Path;
use std::process::Command;
use store_orders_api::plans::Plan;
use store_orders_client::Client;

/// Runs a command to its end; what it printed as JSON.
fn command(directory: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_store-orders"));
    command.arg("--data-dir").arg(directory).args(arguments).arg("--json");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A command that ends while the server goes on must not take itself for the
/// last one in the store: it would delete the log that the server writes to.
#[tokio::test(flavor = "multi_thread")]
async fn each_hears_of_the_other_and_nothing_is_lost() {
    let directory = directory_with(20);
    let key = Key::of_a_new_account(directory.path(), Plan::Business);
    let server = Program::serve(directory.path(), &QUIETLY);
    let client = |key: &str| Client::builder(server.base(), key).without_retries().build().unwrap();
    for round in 1..=5 {
        client(&key.text).cancel_order(round).await.unwrap();
        // What the server wrote is there for whoever comes.
        let listed = command(directory.path(), &["orders", "list"]);
        let id = |order: &serde_json::Value| order["id"].as_i64().unwrap();
        let cancelled = |order: &serde_json::Value| order["status"] == "cancelled";
        let listed = listed.as_array().unwrap();
        let gone: Vec<_> = listed.iter().filter(|order| cancelled(order)).map(id).collect();
        assert_eq!(gone, (1..=round).collect::<Vec<_>>(), "{listed:?}");
        // And what a command wrote reaches the server.
        let issued = command(directory.path(), &["keys", "issue", "--account", "a"]);
        let issued = client(issued["key"].as_str().unwrap());
        until("the new key is taken", || async { issued.list_orders().await.is_ok() }).await;
    }
    assert!(directory.path().join("store.sqlite-wal").exists(), "the server writes to it");
    server.kill();
    let left = store_orders::store::sqlite::check(directory.path()).unwrap();
    assert_eq!((left.orders.pending, left.orders.cancelled), (15, 5), "{left:?}");
    assert_eq!((left.keys, left.problems), (6, Vec::new()));
}
