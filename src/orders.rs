//! The list of orders, encoded and ready to send, and the one way to cancel an
//! order. The store is the truth; the list follows it.
//!
//! A list reflects every change that was committed before it began, by whichever
//! process. Cancellations of this process are told by the writer; the changes of
//! others are read when the store's last change is after the list's.

mod freshness;
mod search;
mod sending;
mod snapshot;
mod writer;

pub use search::{OrderFilter, find_order, find_orders};
pub use sending::{Payload, PayloadBody};
pub use snapshot::{ListTag, Snapshot};
pub use writer::{CancelError, RunningBatch};

use crate::blocking::run;
use crate::counter::Counter;
use crate::metrics::Histogram;
use crate::store::{
    CancelOutcome, ChangeNumber, Freshness, FreshnessReport, REQUEST_TIMEOUT, Store, StoreError,
};
use chrono::{DateTime, Utc};
use freshness::ListInMemory;
use parking_lot::Mutex;
use sending::Readers;
use slog::Logger;
use snapshot::{ListBytes, ListMemory, Sizes};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinError;
use writer::Writer;

/// A refresh that changes up to this many pages runs on the thread that asked for
/// the list: each of them is copied once.
const MAX_INLINE_PAGES: usize = 4;

/// How often the list follows the store although no request needs it.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The store could not be read.
    #[error("the list cannot be brought up to date")]
    Store(#[from] StoreError),
    /// The store could not say whether the list is fresh.
    #[error("the store cannot say whether the list is fresh")]
    Freshness(#[source] Arc<StoreError>),
    /// The store panicked.
    #[error("bringing the list up to date was cut short")]
    CutShort,
}

/// The list of orders and the writer of cancellations.
pub struct OrderList {
    store: Arc<dyn Store>,
    state: Arc<Mutex<ListInMemory>>,
    /// Held while the snapshot is brought up to date.
    refresh_lock: Arc<tokio::sync::Mutex<()>>,
    readers: Arc<Readers>,
    writer: Writer,
}

impl OrderList {
    /// Reads all orders from the store and starts the writer, which counts in
    /// `batches` how many cancellations each transaction carries out. Outdated lists may
    /// hold this many bytes.
    pub async fn open(
        store: Arc<dyn Store>,
        batches: Histogram,
        outdated_bytes: usize,
        log: &Logger,
    ) -> Result<OrderList, StoreError> {
        let memory = ListMemory::default();
        let readers = Arc::new(Readers::new(memory.clone(), outdated_bytes, log));
        let list = ListInMemory::open(&*store, Sizes::default(), memory).await?;
        let state = Arc::new(Mutex::new(list));
        let writer =
            Writer::start(Arc::clone(&store), Arc::clone(&state), batches, REQUEST_TIMEOUT, log);
        Ok(OrderList { store, state, refresh_lock: Arc::default(), readers, writer })
    }

    /// Asks the store for the changes that the list lacks. Every change that was committed before is in the
    /// answer.
    pub fn ask_freshness(&self) -> Result<Freshness, StoreError> {
        let reflected = self.reflected();
        self.store.freshness(Some(reflected))
    }

    /// The list as it stands now.
    pub async fn list(&self) -> Result<Arc<Snapshot>, ListError> {
        self.fresh_list(self.ask_freshness()?).await
    }

    /// The list as it stood when the store was asked for this, or later.
    async fn fresh_list(&self, freshness: Freshness) -> Result<Arc<Snapshot>, ListError> {
        self.refresh_to(freshness.wait().await.map_err(ListError::Freshness)?).await
    }

    /// The list that reflects what the store reported.
    async fn refresh_to(&self, latest: FreshnessReport) -> Result<Arc<Snapshot>, ListError> {
        let stored = latest.last_changes.of_orders();
        if let Some(snapshot) = self.state.lock().current(stored) {
            return Ok(snapshot);
        }
        let refreshing = Arc::clone(&self.refresh_lock).lock_owned().await;
        let refresh = {
            let mut state = self.state.lock();
            // The refresh before may have brought what this list needs.
            match state.current(stored) {
                Some(snapshot) => return Ok(snapshot),
                None => state.plan_refresh(latest),
            }
        };
        if !refresh.is_long(MAX_INLINE_PAGES) {
            return Ok(refresh.read(&*self.store).await?.apply(&self.state));
        }
        let (store, state) = (Arc::clone(&self.store), Arc::clone(&self.state));
        // It goes on if the client goes away: the next list needs it too.
        let refreshed = tokio::spawn(async move {
            let _refreshing = refreshing;
            let read = refresh.read(&*store).await?;
            Ok(run(move || read.apply(&state)).await)
        });
        refreshed.await.map_err(|_| ListError::CutShort)?
    }

    /// The list as it is sent: plain, or gzip if the client accepts it.
    pub fn list_payload(&self, list: &Arc<Snapshot>, accepts_gzip: bool) -> Payload {
        Payload::of_list(list, &self.readers, accepts_gzip)
    }

    /// How many orders are pending, and how many have shipped, as the list knows them.
    pub fn pending_and_shipped(&self) -> (usize, usize) {
        let (snapshot, removed) = self.state.lock().counted();
        let (pending, shipped) = snapshot.pending_and_shipped();
        (pending.saturating_sub(removed), shipped)
    }

    /// The list as it stood when the store was asked for this, or later, and its entity tags.
    pub async fn tagged_list(
        &self,
        mut freshness: Freshness,
    ) -> Result<(Arc<Snapshot>, ListTag), ListError> {
        loop {
            let latest = freshness.wait().await.map_err(ListError::Freshness)?;
            let history = latest.history;
            let list = self.refresh_to(latest).await?;
            if self.store.history()? == history {
                let tag = list.tag(history);
                return Ok((list, tag));
            }
            // The store failed over: the list's change number may be of either history.
            freshness = self.ask_freshness()?;
        }
    }

    /// A part of the list, encoded as JSON, as it is sent: plain, or gzip if the client accepts it.
    /// An error means that compressing it panicked.
    pub async fn part_payload(
        &self,
        json: Vec<u8>,
        accepts_gzip: bool,
    ) -> Result<Payload, JoinError> {
        Payload::of_part(json, &self.readers, accepts_gzip).await
    }

    /// The memory that lists hold besides the current one.
    pub fn list_bytes(&self) -> ListBytes {
        self.readers.used()
    }

    /// Counts the lists that were cut off to keep its bound.
    pub fn lists_cut_off(&self) -> &Counter {
        self.readers.cut_off()
    }

    /// Cancels a pending order: durable, and in no list that begins after this
    /// returns, not after the deadline. The row keeps which key asked, and when.
    pub async fn cancel(
        &self,
        order_id: i64,
        key_id: Arc<str>,
        at: DateTime<Utc>,
        deadline: Instant,
    ) -> Result<CancelOutcome, CancelError> {
        self.writer.cancel(order_id, key_id, at, deadline).await
    }

    /// Refreshes the list in the background. Call it inside a runtime.
    pub fn begin_refresh(self: &Arc<Self>) {
        let orders = Arc::clone(self);
        // A failure shows at the next request for a list.
        tokio::spawn(async move { drop(orders.list().await) });
    }

    /// Follows the store for ever: after a long import on an idle server the first list has little
    /// to read.
    pub async fn keep_following(self: Arc<Self>) {
        loop {
            tokio::time::sleep(FOLLOW_INTERVAL).await;
            // A failure shows at the next request for a list.
            if let Ok(freshness) = self.ask_freshness()
                && let Ok(latest) = freshness.wait().await
                && latest.last_changes.of_orders().has_more_than(self.reflected())
            {
                drop(self.refresh_to(latest).await);
            }
        }
    }

    /// The last change that the list reflects.
    pub fn reflected(&self) -> ChangeNumber {
        self.state.lock().reflected_after_removals()
    }

    /// Fails unless orders can be cancelled. If the last attempt failed, the store is
    /// asked to write something.
    pub async fn require_writable(&self) -> Result<(), CancelError> {
        self.writer.require_not_stuck()?;
        if self.writer.has_failed() {
            let written = self.store.try_write().await;
            written.map_err(|error| CancelError::Store(Arc::new(error)))?;
        }
        Ok(())
    }

    /// The batch of cancellations under way.
    pub fn running_batch(&self) -> &RunningBatch {
        self.writer.running_batch()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::batch_sizes;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{NewOrder, OperatorStore, OrderCommands, Records};
    use futures::poll;
    use std::pin::pin;
    use tempfile::TempDir;

    /// A list of one pending order, its store, and the directory of that.
    async fn one_order() -> (OrderList, Arc<SqliteStore>, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        store.import(Records::Orders(&[NewOrder::pending(1)]), false).unwrap();
        let log = Logger::root(slog::Discard, slog::o!());
        let (served, batches) = (Arc::new(Arc::clone(&store)), batch_sizes().unwrap());
        let orders = OrderList::open(served, batches, 1_000_000, &log).await.unwrap();
        (orders, store, directory)
    }

    #[tokio::test]
    async fn a_list_takes_the_snapshot_of_a_refresh_that_it_waited_for() {
        let (orders, store, _directory) = one_order().await;
        store.ship_orders(&[1]).unwrap();
        let refreshing = orders.refresh_lock.lock().await;
        let mut waiting = [pin!(orders.list()), pin!(orders.list())];
        for list in &mut waiting {
            assert!(poll!(list).is_pending());
        }
        drop(refreshing);
        let [first, second] = waiting;
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        let pages = |list: &Arc<Snapshot>| Arc::clone(list.pages().first().unwrap());
        assert!(Arc::ptr_eq(&pages(&first), &pages(&second)), "it was refreshed twice");
    }

    /// The store is asked when the request arrives, and the list is awaited later.
    #[tokio::test]
    async fn a_list_is_as_fresh_as_the_store_was_when_it_was_asked() {
        let (orders, store, _directory) = one_order().await;
        let first = orders.list().await.unwrap();
        let before = orders.ask_freshness().unwrap();
        store.ship_orders(&[1]).unwrap();
        let after = orders.ask_freshness().unwrap();
        assert!(Arc::ptr_eq(&orders.fresh_list(before).await.unwrap(), &first));
        assert!(!Arc::ptr_eq(&orders.fresh_list(after).await.unwrap(), &first));
    }

    #[tokio::test]
    async fn the_list_follows_the_store_without_requests() {
        let (orders, store, _directory) = one_order().await;
        let (before, orders) = (orders.reflected(), Arc::new(orders));
        let following = tokio::spawn(Arc::clone(&orders).keep_following());
        store.ship_orders(&[1]).unwrap();
        let began = Instant::now();
        while orders.reflected() == before {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not follow");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        following.abort();
    }

    #[tokio::test]
    async fn a_list_that_is_still_held_after_a_change_is_outdated() {
        let (orders, store, _directory) = one_order().await;
        let first = orders.list().await.unwrap();
        assert_eq!(orders.list_bytes().outdated, 0);
        store.ship_orders(&[1]).unwrap();
        orders.list().await.unwrap();
        assert_eq!(orders.list_bytes().outdated, first.length());
        drop(first);
        assert_eq!(orders.list_bytes().outdated, 0);
    }
}
