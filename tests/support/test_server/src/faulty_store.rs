//! A store that fails, panics, stays silent or is late when a test tells it to. These faults
//! simulate a faulty disk or a bug.

use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store_orders::api_key::Digest;
use store_orders::rate_limiter::NewBan;
use store_orders::store::sqlite::SqliteStore;
use store_orders::store::{
    Cancellation, CancelledBatch, Freshness, FreshnessAnswer, FreshnessReport, GivesUp,
    LookedUpKeys, Order, OrderSender, OrdersRead, PolledChanges, PolledKeys, Position, Store,
    StoreError, Structure,
};
use store_orders_api::types::Pet;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::time::sleep;

/// The interval at which waiting calls check whether the store is still silent.
const SILENCE_CHECK_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    #[default]
    None,
    Fails,
    Panics,
    /// Cancellations, `cancelled_order`, `pet`, `poll_changes` and `record_bans` wait until another
    /// fault is set. Freshness queries wait for [`FaultyStore::answer_queries`]. Lookups of keys
    /// wait for another fault or for [`FaultyStore::answer_queries`].
    Silent,
    /// Cancellations reach the store only after their deadline.
    Late,
}

pub struct FaultyStore {
    store: SqliteStore,
    fault: parking_lot::Mutex<Fault>,
    last_used: Mutex<()>,
    readiness_checks: AtomicUsize,
    order_reads: AtomicUsize,
    failovers: AtomicU64,
    /// The number of calls of [`FaultyStore::answer_queries`]. Waiting lookups of keys end when
    /// this number rises.
    answered: AtomicUsize,
    /// The unanswered freshness queries, all of which were sent while the store was silent.
    unanswered: parking_lot::Mutex<Vec<watch::Sender<FreshnessAnswer>>>,
}

impl FaultyStore {
    /// Creates a store that works until the first [`FaultyStore::set`].
    pub fn new(store: &SqliteStore) -> Arc<FaultyStore> {
        let store = store.clone();
        let (fault, last_used, readiness_checks, failovers, unanswered) = Default::default();
        let [answered, order_reads] = Default::default();
        Arc::new(FaultyStore {
            store,
            fault,
            last_used,
            readiness_checks,
            order_reads,
            failovers,
            answered,
            unanswered,
        })
    }

    /// Applies the fault to later calls, and to calls that wait under [`Fault::Silent`]. Freshness
    /// queries keep waiting for [`FaultyStore::answer_queries`].
    pub fn set(&self, fault: Fault) {
        *self.fault.lock() = fault;
    }

    /// Blocks the calls that record the last uses of keys, until the returned guard is dropped.
    pub async fn block_last_used(&self) -> MutexGuard<'_, ()> {
        self.last_used.lock().await
    }

    pub fn readiness_checks(&self) -> usize {
        self.readiness_checks.load(Ordering::SeqCst)
    }

    /// The number of calls of `cancelled_order` so far.
    pub fn order_reads(&self) -> usize {
        self.order_reads.load(Ordering::SeqCst)
    }

    /// Begins a new history, as a failover that loses changes does. The only effect is that
    /// `cancelled_order` fails if the caller passes the old history.
    pub fn fail_over(&self) {
        self.failovers.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of freshness queries that wait for [`FaultyStore::answer_queries`].
    pub fn unanswered(&self) -> usize {
        self.unanswered.lock().len()
    }

    /// Answers all pending freshness queries and lookups of keys.
    pub async fn answer_queries(&self) -> Result<(), StoreError> {
        self.answered.fetch_add(1, Ordering::SeqCst);
        let last_changes = self.store.poll_changes().await?.last_changes;
        for sender in self.unanswered.lock().drain(..) {
            // Do not use `send`, which fails if the request that waits for this answer has ended.
            sender.send_replace(Some(Ok(FreshnessReport { last_changes, changes: None })));
        }
        Ok(())
    }

    fn is_silent(&self) -> bool {
        *self.fault.lock() == Fault::Silent
    }

    async fn wait_while_silent(&self) {
        while self.is_silent() {
            sleep(SILENCE_CHECK_INTERVAL).await;
        }
    }

    fn store(&self) -> Result<&SqliteStore, StoreError> {
        let fault = *self.fault.lock();
        match fault {
            Fault::Fails => {
                Err(StoreError::Engine { doing: "read", source: "a test says so".into() })
            }
            // Do not use `panic!`, because it may print a backtrace. Printing takes so long that
            // the server's cached keys would no longer be current.
            Fault::Panics => std::panic::resume_unwind(Box::new("a test lets the store panic")),
            Fault::None | Fault::Silent | Fault::Late => Ok(&self.store),
        }
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn query_freshness(&self, list: Option<Position>) -> Result<Freshness, StoreError> {
        if self.is_silent() {
            let (sender, answer) = watch::channel(None);
            self.unanswered.lock().push(sender);
            return Ok(Freshness::Awaited(answer));
        }
        self.store()?.query_freshness(list)
    }

    async fn poll_changes(&self) -> Result<PolledChanges, StoreError> {
        self.wait_while_silent().await;
        self.store()?.poll_changes().await
    }

    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        self.store()?.poll_keys(after).await
    }

    async fn send_orders_since(
        &self,
        after: Position,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        self.store()?.send_orders_since(after, to).await
    }

    async fn cancel(&self, batch: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError> {
        self.wait_while_silent().await;
        let mut batch = batch.to_vec();
        if *self.fault.lock() == Fault::Late {
            batch.iter_mut().for_each(|cancellation| cancellation.deadline = Instant::now());
        }
        self.store()?.cancel(batch.into()).await
    }

    async fn cancelled_order(&self, id: i64, history: u64) -> Result<Option<Order>, StoreError> {
        self.order_reads.fetch_add(1, Ordering::SeqCst);
        self.wait_while_silent().await;
        if history != self.failovers.load(Ordering::SeqCst) {
            return Err(StoreError::Engine { doing: "read", source: "another history".into() });
        }
        self.store()?.cancelled_order(id, history).await
    }

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        self.wait_while_silent().await;
        self.store()?.pet(id).await
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        let answered = self.answered.load(Ordering::SeqCst);
        while self.is_silent() && self.answered.load(Ordering::SeqCst) == answered {
            sleep(SILENCE_CHECK_INTERVAL).await;
        }
        self.store()?.look_up_keys(digests).await
    }

    fn last_backup(&self) -> Option<f64> {
        self.store.last_backup()
    }

    fn damage(&self) -> Option<&str> {
        self.store.damage()
    }

    async fn quick_check(&self, gives_up: GivesUp) -> Result<Structure, StoreError> {
        self.store()?.quick_check(gives_up).await
    }

    fn require_ready(&self) -> Result<(), StoreError> {
        self.readiness_checks.fetch_add(1, Ordering::SeqCst);
        self.store()?.require_ready()
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        self.store()?.try_write().await
    }

    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError> {
        self.wait_while_silent().await;
        self.store()?.record_bans(bans).await
    }

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
        let _blocked = self.last_used.lock().await;
        self.store()?.record_last_used(uses).await
    }
}
