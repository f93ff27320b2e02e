//! A server and an operator's commands on the same store, each a process.

use store_orders_client::Client;
use testbed::DataDir;
use testbed::contract::Tap;

/// A command that ends while the server runs must not take itself for the last
/// process in the store: it would delete the log that the server writes to.
#[tokio::test(flavor = "multi_thread")]
async fn each_sees_what_the_other_wrote_and_nothing_is_lost() {
    let data = DataDir::temporary().unwrap();
    data.import_pending(1..=20).unwrap();
    let key = data.issue_key("acme", "business").unwrap();
    let server = data.serve(&[]).unwrap();
    let tap = Tap::before(server.address().unwrap());
    let client =
        |key: &str| Client::builder(tap.base_url(), key).without_retries().build().unwrap();
    for round in 1..=5 {
        client(&key.text).cancel_order(round).await.unwrap();
        let listed = data.run_json(&["orders", "list"]).unwrap();
        let id = |order: &serde_json::Value| order["id"].as_i64().unwrap();
        let cancelled = |order: &serde_json::Value| order["status"] == "cancelled";
        let listed = listed.as_array().unwrap();
        let ids: Vec<_> = listed.iter().filter(|order| cancelled(order)).map(id).collect();
        assert_eq!(ids, (1..=round).collect::<Vec<_>>(), "{listed:?}");
        let issued = data.run_json(&["keys", "issue", "--account", "acme"]).unwrap();
        client(issued["key"].as_str().unwrap()).list_orders().await.unwrap();
    }
    assert!(data.path().join("store.sqlite-wal").exists(), "the server writes to it");
    server.kill().unwrap();
    let left = store_orders::store::sqlite::check(data.path()).unwrap();
    let orders = left.orders.unwrap();
    assert_eq!((orders.pending, orders.cancelled), (15, 5), "{left:?}");
    assert_eq!((left.keys, left.problems), (Some(6), Vec::new()));
}
