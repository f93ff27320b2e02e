//! When a key was last used: recorded without delaying a request.

use std::time::Duration;
use store_orders::store::KeyCommands;
use store_orders::store::sqlite::SqliteStore;
use store_orders_api::plans::Plan;
use test_server::{NOON, TestServer, TestSetup};
use testbed::{Key, wait_a_second_until, wait_until};

/// What the store knows of the last use, in seconds after the test began.
fn used_at(server: &TestServer, key: &Key) -> Option<i64> {
    let records = server.setup.store.key_records().unwrap();
    let record = records.into_iter().find(|record| record.id == key.id).unwrap();
    record.used_at.map(|at| at / 1_000 - NOON.as_secs() as i64)
}

/// Waits until the store knows that the key was used then.
async fn recorded(server: &TestServer, key: &Key, seconds: i64) {
    let what = format!("last used at {seconds} s");
    wait_until(&what, || async { used_at(server, key) == Some(seconds) }).await;
}

/// A new key, used. The server reads it.
async fn used_new_key(server: &TestServer) -> Key {
    let key = server.setup.another_key("business-0");
    assert_eq!(server.list_with(&key).await.status, 200);
    key
}

#[tokio::test]
async fn only_a_valid_key_is_used() {
    let setup = TestSetup::new();
    let key = setup.key(Plan::Business);
    let revoked = setup.another_key("business-0");
    setup.store.revoke_key(&revoked.id, 0).unwrap();
    let server = setup.serve().await;
    server.list_with(&revoked).await.assert_error(401, "unauthorized");
    server.list_with(&key).await;
    recorded(&server, &key, 0).await;
    assert_eq!(used_at(&server, &revoked), None);
}

#[tokio::test]
async fn while_recording_blocks_requests_are_answered_and_revocations_hold() {
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
    recorded(&server, &key, 0).await;
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
    let other = used_new_key(&server).await;
    server.list_with(&key).await;
    server.setup.clock.advance(Duration::from_secs(70));
    let last = used_new_key(&server).await;
    drop(blocked);
    recorded(&server, &last, 100).await;
    assert_eq!(used_at(&server, &key), Some(0));
    assert_eq!(used_at(&server, &other), Some(30));
}
