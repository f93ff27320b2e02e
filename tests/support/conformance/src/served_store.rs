//! A blocking interface to a server's store.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};
use store_orders::api_key::Digest;
use store_orders::rate_limiter::NewBan;
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{
    Cancellation, CancelledBatch, LookedUpKeys, Order, OrdersRead, PolledChanges, PolledKeys,
    Position, Store, StoreError, Structure,
};
use store_orders_api::types::Pet;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::mpsc;

/// A server's store, with blocking versions of some methods of [`Store`]. Inside a Tokio runtime,
/// calls of these versions panic.
#[derive(Clone)]
pub struct ServedStore {
    pub store: Arc<dyn Store>,
    runtime: Handle,
}

impl Deref for ServedStore {
    type Target = dyn Store;

    fn deref(&self) -> &(dyn Store + 'static) {
        &*self.store
    }
}

impl ServedStore {
    /// Wraps a store whose tasks run on this runtime.
    pub fn new(store: Arc<dyn Store>, runtime: Handle) -> ServedStore {
        ServedStore { store, runtime }
    }

    /// Wraps an embedded store. All embedded stores of the process share one runtime.
    pub fn embedded(store: &SqliteStore) -> anyhow::Result<ServedStore> {
        static RUNTIME: OnceLock<Runtime> = OnceLock::new();
        let runtime = match RUNTIME.get() {
            Some(runtime) => runtime,
            None => {
                let mut runtime = Builder::new_multi_thread();
                let runtime = runtime.worker_threads(1).enable_time().build()?;
                RUNTIME.get_or_init(|| runtime)
            }
        };
        Ok(ServedStore::new(Arc::new(store.clone()), runtime.handle().clone()))
    }

    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

// The trait `Store` documents these methods.
impl ServedStore {
    pub fn poll_changes(&self) -> Result<PolledChanges, StoreError> {
        self.wait(self.store.poll_changes())
    }

    pub fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        self.wait(self.store.poll_keys(after))
    }

    pub fn look_up_keys(&self, digests: &[Digest]) -> Result<LookedUpKeys, StoreError> {
        self.wait(self.store.look_up_keys(digests.to_vec()))
    }

    /// Returns the orders that changed after `after`, and the position that the read reached. If
    /// many orders changed, the read may end before the last change.
    pub fn orders_since(&self, after: Position) -> Result<(Vec<Order>, OrdersRead), StoreError> {
        let (sender, mut orders) = mpsc::channel(1);
        let received = async {
            let mut received = Vec::new();
            while let Some(mut some) = orders.recv().await {
                received.append(&mut some);
            }
            received
        };
        let sent = self.store.send_orders_since(after, sender);
        let (read, received) = self.wait(async { tokio::join!(sent, received) });
        Ok((received, read?))
    }

    pub fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
        self.wait(self.store.cancel(batch.into()))
    }

    pub fn cancelled_order(&self, id: i64) -> Result<Option<Order>, StoreError> {
        let history = self.poll_changes()?.last_changes.orders.history;
        self.wait(self.store.cancelled_order(id, history))
    }

    pub fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        self.wait(self.store.pet(id))
    }

    pub fn quick_check(&self) -> Result<Structure, StoreError> {
        self.wait(self.store.quick_check(Box::new(|| false)))
    }

    pub fn try_write(&self) -> Result<(), StoreError> {
        self.wait(self.store.try_write())
    }

    pub fn record_bans(&self, bans: &[NewBan]) -> Result<(), StoreError> {
        self.wait(self.store.record_bans(bans.to_vec()))
    }

    pub fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError> {
        self.wait(self.store.record_last_used(uses.to_vec()))
    }
}
