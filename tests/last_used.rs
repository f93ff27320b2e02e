//! When a key was last used: noted at most once a minute, and never in a
//! request's way.

use crate::harness::{Key, TestServer, World};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders::keys::Digest;
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{
    Cancellation, CancelledBatch, KeyRow, OrderChange, OrderCounts, Store, StoreError, Versions,
};
use store_orders_api::plans::Plan;
use store_orders_api::types::Pet;
use tokio::sync::Mutex;

/// What the store knows of the last use, in seconds after the test began.
fn used_at(server: &TestServer, key: &Key) -> Option<i64> {
    let records = server.world.store.key_records().unwrap();
    let record = records.into_iter().find(|record| record.id == key.id).unwrap();
    record.used_at.map(|at| at / 1_000 - crate::harness::NOON.as_secs() as i64)
}

/// Waits until the store knows that the key was used then.
async fn noted(server: &TestServer, key: &Key, seconds: i64) {
    let started = Instant::now();
    while used_at(server, key) != Some(seconds) {
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", used_at(server, key));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_use_is_noted_once_a_minute() {
    let world = World::new();
    let key = world.key(Plan::Business);
    let server = world.serve().await;
    assert_eq!(used_at(&server, &key), None);
    server.list_with(&key).await;
    noted(&server, &key, 0).await;
    server.world.clock.advance(Duration::from_millis(59_999));
    // A new key makes the server read all of them anew.
    let witness = server.world.another_key("business-0");
    while server.list_with(&witness).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    noted(&server, &witness, 59).await;
    server.list_with(&key).await;
    let later = server.world.another_key("business-0");
    while server.list_with(&later).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Uses are noted in their order.
    noted(&server, &later, 59).await;
    assert_eq!(used_at(&server, &key), Some(0), "not a minute has passed");
    server.world.clock.advance(Duration::from_millis(1));
    server.list_with(&key).await;
    noted(&server, &key, 60).await;
}

#[tokio::test]
async fn only_a_valid_key_is_used() {
    let world = World::new();
    let key = world.key(Plan::Business);
    let revoked = world.another_key("business-0");
    world.store.revoke_key(&revoked.id, 0).unwrap();
    let server = world.serve().await;
    server.list_with(&revoked).await.assert_error(401, "unauthorized");
    server.list_with(&key).await;
    noted(&server, &key, 0).await;
    assert_eq!(used_at(&server, &revoked), None);
}

/// A store in which noting a use waits for as long as the test likes.
struct BlockedNotes {
    store: Arc<SqliteStore>,
    gate: Mutex<()>,
}

impl Store for BlockedNotes {
    fn versions(&self) -> Result<Versions, StoreError> {
        self.store.versions()
    }

    fn for_each_order_since(
        &self,
        after: i64,
        visit: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<i64, StoreError> {
        self.store.for_each_order_since(after, visit)
    }

    fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
        self.store.cancel(batch)
    }

    fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        self.store.pet(id)
    }

    fn keys(&self) -> Result<Vec<(Digest, KeyRow)>, StoreError> {
        self.store.keys()
    }

    fn count_orders(&self) -> Result<OrderCounts, StoreError> {
        self.store.count_orders()
    }

    fn try_write(&self) -> Result<(), StoreError> {
        self.store.try_write()
    }

    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError> {
        let _gate = self.gate.blocking_lock();
        self.store.record_last_used(uses)
    }
}

#[tokio::test]
async fn while_noting_waits_requests_are_answered_and_revocations_hold() {
    let mut world = World::new();
    let key = world.pending([1]).key(Plan::Business);
    let gate = Mutex::new(());
    let blocked = Arc::new(BlockedNotes { store: world.store.clone(), gate });
    world.served = Some(blocked.clone());
    let server = world.serve().await;
    let shut = blocked.gate.lock().await;
    for _ in 0..20 {
        assert_eq!(server.list_with(&key).await.status, 200);
    }
    assert_eq!(server.send_with(&key, "DELETE", "/v1/store/orders/1").await.status, 204);
    assert_eq!(used_at(&server, &key), None);
    let other = SqliteStore::open(server.world.directory.path()).unwrap();
    other.revoke_key(&key.id, 0).unwrap();
    let revoked = Instant::now();
    while server.list_with(&key).await.status != 401 {
        assert!(revoked.elapsed() < Duration::from_secs(1), "the key still opens the door");
    }
    drop(shut);
    noted(&server, &key, 0).await;
}

#[tokio::test]
async fn a_use_that_waits_to_be_noted_is_not_noted_twice() {
    let mut world = World::new();
    let key = world.key(Plan::Business);
    let blocked = Arc::new(BlockedNotes { store: world.store.clone(), gate: Mutex::new(()) });
    world.served = Some(blocked.clone());
    let server = world.serve().await;
    let shut = blocked.gate.lock().await;
    server.list_with(&key).await;
    // A new key makes the server read all of them anew, without that use.
    let witness = server.world.another_key("business-0");
    server.world.clock.advance(Duration::from_secs(30));
    while server.list_with(&witness).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.list_with(&key).await;
    server.world.clock.advance(Duration::from_secs(70));
    let last = server.world.another_key("business-0");
    while server.list_with(&last).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(shut);
    noted(&server, &last, 100).await;
    assert_eq!(used_at(&server, &key), Some(0));
    assert_eq!(used_at(&server, &witness), Some(30));
}
