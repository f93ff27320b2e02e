//! Tests that the server records the time of a key's last use without delaying requests.

use std::time::Duration;
use store_orders::store::KeyCommands;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use test_server::{NOON, TestServer, TestSetup};
use testbed::{Key, wait_a_second_until, wait_until};

/// Returns the stored time of the key's last use, in seconds since the test began.
fn used_at(server: &TestServer, key: &Key) -> Option<i64> {
    let records = server.setup.store.key_records().unwrap();
    let record = records.into_iter().find(|record| *record.key.id == *key.id).unwrap();
    record.key.used_at.map(|at| at / 1_000 - NOON.as_secs() as i64)
}

/// Waits until the store records that the key was last used `seconds` after `NOON`.
async fn wait_until_recorded(server: &TestServer, key: &Key, seconds: i64) {
    let what = format!("last used at {seconds} s");
    wait_until(&what, || async { used_at(server, key) == Some(seconds) }).await;
}

async fn issue_and_use_key(server: &TestServer) -> Key {
    let key = server.setup.another_key("business-0");
    assert_eq!(server.list_with(&key).await.status, 200);
    key
}

#[tokio::test]
async fn a_use_is_recorded_only_for_a_valid_key() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let revoked = setup.another_key("business-0");
    setup.store.revoke_key(&revoked.id, 0).unwrap();
    let server = setup.serve().await;
    server.list_with(&revoked).await.assert_error(401, "unauthorized");
    server.list_with(&key).await;
    wait_until_recorded(&server, &key, 0).await;
    assert_eq!(used_at(&server, &revoked), None);
}

#[tokio::test]
async fn requests_are_answered_and_keys_revoked_while_recording_blocks() {
    let mut setup = TestSetup::new();
    let key = setup.pending([1]).key(Plan::Business);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let blocked = store.block_last_used().await;
    for _ in 0..20 {
        assert_eq!(server.list_with(&key).await.status, 200);
    }
    assert_eq!(server.send_with(&key, "DELETE", "/v1/store/orders/1").await.status, 204);
    assert_eq!(used_at(&server, &key), None);
    let other = SqliteStore::open(server.setup.directory.path()).unwrap();
    other.revoke_key(&key.id, 0).unwrap();
    wait_a_second_until("the key is rejected", || async {
        server.list_with(&key).await.status == 401
    })
    .await;
    drop(blocked);
    wait_until_recorded(&server, &key, 0).await;
}

#[tokio::test]
async fn a_use_that_waits_to_be_recorded_is_not_recorded_twice() {
    let mut setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let store = setup.add_faulty_store();
    let server = setup.serve().await;
    let blocked = store.block_last_used().await;
    server.list_with(&key).await;
    server.setup.clock.advance(Duration::from_secs(30));
    let other = issue_and_use_key(&server).await;
    server.list_with(&key).await;
    server.setup.clock.advance(Duration::from_secs(70));
    let last = issue_and_use_key(&server).await;
    drop(blocked);
    wait_until_recorded(&server, &last, 100).await;
    assert_eq!(used_at(&server, &key), Some(0));
    assert_eq!(used_at(&server, &other), Some(30));
}
