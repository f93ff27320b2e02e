//! Keeps the list of all orders in memory, keeps it fresh, and cancels orders.
//!
//! The server has the list of all orders ready to send, because reading and encoding it for each
//! request would be slow. But other processes change the store too. For example, commands import
//! and ship orders, and other replicas cancel them. Still, a list must reflect every change that
//! was acknowledged before the list was requested.
//!
//! The obvious solution asks the store for its last change. All list requests that arrive while
//! this query runs share its result. An example shows why this is wrong. The query reads change 8.
//! Then a cancellation commits as change 9. Its caller gets the 204 and requests the list. This
//! request joins the running query, whose result is change 8. So the server sends a list at change
//! 8, which still shows the cancelled order.
//!
//! Therefore each list request needs a freshness query that is sent after the request has arrived.
//! Several requests share one query only if all of them arrived before the query was sent
//! ([`SharedQueries`](crate::store::agreement::shared_queries::SharedQueries)). If the snapshot has
//! reached the position that the query returns, the server sends the snapshot. Otherwise one
//! refresh brings the snapshot up to date for all waiting requests.
//!
//! - With SQLite, the query reads the header of the WAL index, which changes with every commit of
//!   any process (`store/sqlite/last_changes.rs`). This takes one system call, so each request
//!   makes its own query. A refresh reads the changed rows in one transaction.
//! - With PostgreSQL, the query is one statement (`store/postgres/session/list_reader.rs`). It
//!   reads the last position and the orders that changed since the list's position. It runs while
//!   the rate limiter counts the request, so a list request waits for only one round trip, even if
//!   another replica has just cancelled an order. In an earlier design, a second transaction read
//!   the orders, and a list request took as long as 8.5 round trips. The answer is used only under
//!   the session's [`lease`](crate::store::agreement::lease).
//!
//! The server's own cancellations take a shortcut, because the server knows which orders they
//! remove. The list in memory consists of a snapshot, pending removals and a position. Pending
//! removals are cancelled orders that the snapshot still contains. The writer (`orders/writer.rs`)
//! executes cancellations in batches. Before it responds, it adds the batch's orders to the pending
//! removals, and moves the list's position past the batch ([`ListState`]). The list's position is
//! then ahead of the snapshot's, so the next list request refreshes the snapshot. This refresh
//! removes the orders without reading the store. Editing the snapshot for each batch would copy
//! pages even if nobody requests a list. If the list lacked a change of another process when the
//! batch was committed, the writer leaves the list as it is, because a position past the batch
//! would hide that change. The next list request then reads that change and the batch from the
//! store.
//!
//! What is always true:
//!
//! - A list request gets a snapshot only if the snapshot has reached the position that the query
//!   returned (`ListInMemory::current`). So no list is outdated, except in the last two cases in
//!   `store/agreement/lease.rs`.
//! - Only one refresh runs at a time (`refresh_lock`). An order that is cancelled during the
//!   refresh stays a pending removal, unless the refresh has already read its cancellation
//!   (`ListState::publish`).
//!
//! What happens when something fails:
//!
//! - The store does not respond, or the lease has expired: the response is a 503, not an outdated
//!   list.
//! - A refresh panics: the snapshot and the pending removals stay, and the next request tries
//!   again.
//! - A failover lost changes: the next session begins a new history (see
//!   [`journal`](crate::store::agreement::journal)). The refresh then discards the pending removals
//!   and reads every order.
//! - PostgreSQL cannot be reached at the start: the list is empty and has the position [`UNREAD`].
//!   No session has the history of this position, so the first refresh reads every order.
//!
//! [`ListState`]: crate::store::agreement::list::ListState

mod refresh;
mod search;
mod sending;
mod sent_lists;
mod snapshot;
mod versions;
mod writer;

pub use search::{OrderFilter, find_order, find_orders};
pub use sending::{Payload, PayloadBody};
pub use snapshot::{Snapshot, order_tag, page_tag};
pub use writer::{CancelError, RunningBatch};

use crate::blocking::run;
use crate::metrics::Histogram;
use crate::store::{
    CancelOutcome, Cancellation, Freshness, FreshnessReport, Position, REQUEST_TIMEOUT, Store,
    StoreError, UNREAD,
};
use parking_lot::Mutex;
use prometheus::IntCounter;
use refresh::{ListInMemory, ReadRefresh};
use sending::Readers;
use slog::Logger;
use snapshot::Sizes;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinError;
use writer::Writer;

/// A refresh that changes at most this many pages, and reads nothing from the store, runs in the
/// request's task, because it copies less than 1 MiB. Other refreshes get their own task.
const MAX_INLINE_PAGES: usize = 4;

const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("the list cannot be brought up to date")]
    Store(#[from] StoreError),
    #[error("the store cannot say whether the list is fresh")]
    Freshness(#[source] Arc<StoreError>),
    /// The refresh of the list panicked.
    #[error("bringing the list up to date was cut short")]
    CutShort,
}

pub struct OrderList {
    store: Arc<dyn Store>,
    /// Never locked across an `await`, nor while a snapshot is built or dropped. So list requests
    /// and the writer wait only briefly.
    state: Arc<Mutex<ListInMemory>>,
    refresh_lock: Arc<tokio::sync::Mutex<()>>,
    readers: Arc<Readers>,
    writer: Writer,
}

impl OrderList {
    /// Reads all orders from the store and starts the writer. `batches` records the size of each
    /// successful batch. `outdated_bytes` limits the memory of outdated lists that are still being
    /// sent.
    ///
    /// If the store fails but may work again later ([`Store::can_return`]), the list begins empty.
    /// Requests for lists then fail until a refresh has read the orders.
    pub async fn open(
        store: Arc<dyn Store>,
        batches: Histogram,
        outdated_bytes: usize,
        log: &Logger,
    ) -> Result<OrderList, StoreError> {
        let list = match ListInMemory::open(&*store, Sizes::default()).await {
            Err(StoreError::Engine { .. }) if store.can_return() => {
                let empty = Arc::new(Snapshot::empty(Sizes::default()));
                ListInMemory::new(empty, UNREAD)
            }
            opened => opened?,
        };
        let state = Arc::new(Mutex::new(list));
        let readers = Arc::new(Readers::new(Arc::clone(&state), outdated_bytes, log));
        let writer =
            Writer::start(Arc::clone(&store), Arc::clone(&state), batches, REQUEST_TIMEOUT, log);
        Ok(OrderList { store, state, refresh_lock: Arc::default(), readers, writer })
    }

    /// Asks the store for its last changes. The answer covers every change committed before this
    /// call.
    ///
    /// PostgreSQL also returns the orders that changed after the list's position, unless too many
    /// changed.
    pub fn query_freshness(&self) -> Result<Freshness, StoreError> {
        let reflected = self.position();
        self.store.query_freshness(Some(reflected))
    }

    /// Returns a list that reflects all changes committed before this call.
    pub async fn list(&self) -> Result<Arc<Snapshot>, ListError> {
        Ok(self.fresh_list(self.query_freshness()?).await?.0)
    }

    /// Returns a list, and the position that the query `freshness` returned. The list reflects all
    /// changes that were committed before this query was sent.
    pub async fn fresh_list(
        &self,
        freshness: Freshness,
    ) -> Result<(Arc<Snapshot>, Position), ListError> {
        let latest = freshness.wait().await.map_err(ListError::Freshness)?;
        let stored = latest.last_changes.orders;
        Ok((self.refresh_to(latest).await?, stored))
    }

    async fn refresh_to(&self, latest: FreshnessReport) -> Result<Arc<Snapshot>, ListError> {
        let stored = latest.last_changes.orders;
        if let Some(snapshot) = self.state.lock().current(stored) {
            return Ok(snapshot);
        }
        let refresh_guard = Arc::clone(&self.refresh_lock).lock_owned().await;
        let refresh = {
            let state = self.state.lock();
            // While this call waited for the lock, another refresh may have reached the position
            // `stored`.
            match state.current(stored) {
                Some(snapshot) => return Ok(snapshot),
                None => state.plan_refresh(latest),
            }
        };
        if !refresh.is_long(MAX_INLINE_PAGES) {
            return Ok(publish(refresh.read(&*self.store).await?, &self.state, &self.readers));
        }
        let (store, state) = (Arc::clone(&self.store), Arc::clone(&self.state));
        let readers = Arc::clone(&self.readers);
        // The refresh continues if the client disconnects, because the next list needs the refresh
        // too.
        let refreshed = tokio::spawn(async move {
            let _refresh_guard = refresh_guard;
            let read = refresh.read(&*store).await?;
            Ok(run(move || publish(read, &state, &readers)).await)
        });
        refreshed.await.map_err(|_| ListError::CutShort)?
    }

    pub fn list_payload(&self, list: &Arc<Snapshot>, accepts_gzip: bool) -> Payload {
        Payload::for_list(list, &self.readers, accepts_gzip)
    }

    /// Returns the numbers of pending and of shipped orders. Cancelled orders that the snapshot
    /// still contains are not counted.
    pub fn pending_and_shipped(&self) -> (usize, usize) {
        let (snapshot, removed) = self.state.lock().snapshot_and_removals();
        let (pending, shipped) = snapshot.pending_and_shipped();
        (pending.saturating_sub(removed), shipped)
    }

    /// Prepares a part of the list for sending, as gzip if the client accepts gzip and the part is
    /// not too short. Fails if the compression panicked.
    pub async fn part_payload(
        &self,
        json: Vec<u8>,
        accepts_gzip: bool,
    ) -> Result<Payload, JoinError> {
        Payload::for_part(json, &self.readers, accepts_gzip).await
    }

    /// Returns the memory in bytes of the outdated lists that are being sent. Counts a page once
    /// for each list that shares it.
    pub fn outdated_bytes(&self) -> usize {
        self.state.lock().outdated_bytes()
    }

    /// Returns the counter of responses that were cut off because outdated lists used too much
    /// memory.
    pub fn lists_cut_off(&self) -> &IntCounter {
        self.readers.lists_cut_off()
    }

    /// Cancels a pending order, and returns by the deadline. After [`CancelOutcome::Cancelled`],
    /// the change is durable and later lists do not contain the order.
    pub async fn cancel(&self, cancellation: Cancellation) -> Result<CancelOutcome, CancelError> {
        self.writer.cancel(cancellation).await
    }

    /// Refreshes the list in the background. Must be called inside a tokio runtime.
    pub fn begin_refresh(self: &Arc<Self>) {
        let orders = Arc::clone(self);
        // Ignore an error here, because the next request for a list tries again and returns its own
        // error.
        tokio::spawn(async move { drop(orders.list().await) });
    }

    /// Refreshes the list every `FOLLOW_INTERVAL` if orders have changed. Without this task, the
    /// first list request after a long import would wait while the server reads the whole import.
    pub async fn keep_following(self: Arc<Self>) {
        loop {
            tokio::time::sleep(FOLLOW_INTERVAL).await;
            // Ignore errors, because the next request for a list tries again and returns its own
            // error.
            if let Ok(freshness) = self.query_freshness()
                && let Ok(latest) = freshness.wait().await
                && latest.last_changes.orders.has_more_than(self.position())
            {
                drop(self.refresh_to(latest).await);
            }
        }
    }

    pub fn position(&self) -> Position {
        self.state.lock().position()
    }

    /// Fails if a batch runs for too long. After a failed batch, also fails if a trial write fails.
    pub async fn require_writable(&self) -> Result<(), CancelError> {
        self.writer.require_not_stuck()?;
        if self.writer.has_failed() {
            let result = self.store.try_write().await;
            result.map_err(|error| CancelError::Store(Arc::new(error)))?;
        }
        Ok(())
    }

    pub fn running_batch(&self) -> &RunningBatch {
        self.writer.running_batch()
    }
}

/// Publishes a refreshed list. If outdated lists now use too much memory, ends the responses that
/// send the oldest outdated lists.
fn publish(read: ReadRefresh, state: &Mutex<ListInMemory>, readers: &Readers) -> Arc<Snapshot> {
    let snapshot = read.apply(state);
    readers.cut_off_excess();
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::batch_sizes;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{OperatorStore, Order, OrderCommands, Records};
    use futures::poll;
    use std::pin::pin;
    use std::time::Instant;
    use tempfile::TempDir;

    /// Returns a list of one pending order, its store, and the store's directory. Outdated lists
    /// may use only one byte, so all outdated lists except the newest are cut off.
    async fn one_order() -> (OrderList, SqliteStore, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[Order::pending(1)]), false).unwrap();
        let log = Logger::root(slog::Discard, slog::o!());
        let batches = batch_sizes().unwrap();
        let orders = OrderList::open(Arc::new(store.clone()), batches, 1, &log).await.unwrap();
        (orders, store, directory)
    }

    #[tokio::test]
    async fn lists_that_wait_for_a_refresh_share_its_snapshot() {
        let (orders, store, _directory) = one_order().await;
        store.ship_orders(&[1]).unwrap();
        let refresh_guard = orders.refresh_lock.lock().await;
        let mut waiting = [pin!(orders.list()), pin!(orders.list())];
        for list in &mut waiting {
            assert!(poll!(list).is_pending());
        }
        drop(refresh_guard);
        let [first, second] = waiting;
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        let pages = |list: &Arc<Snapshot>| Arc::clone(list.pages().first().unwrap());
        assert!(Arc::ptr_eq(&pages(&first), &pages(&second)), "the list was refreshed twice");
    }

    /// A list must reflect the changes that were committed before its freshness query. Changes
    /// after the query may be missing, even if the caller awaits the list after these changes.
    #[tokio::test]
    async fn a_list_is_as_fresh_as_the_store_at_the_time_of_the_query() {
        let (orders, store, _directory) = one_order().await;
        let first = orders.list().await.unwrap();
        let before = orders.query_freshness().unwrap();
        store.ship_orders(&[1]).unwrap();
        let after = orders.query_freshness().unwrap();
        assert!(Arc::ptr_eq(&orders.fresh_list(before).await.unwrap().0, &first));
        assert!(!Arc::ptr_eq(&orders.fresh_list(after).await.unwrap().0, &first));
    }

    #[tokio::test]
    async fn the_list_follows_the_store_without_requests() {
        let (orders, store, _directory) = one_order().await;
        let (before, orders) = (orders.position(), Arc::new(orders));
        let follower = tokio::spawn(Arc::clone(&orders).keep_following());
        store.ship_orders(&[1]).unwrap();
        let began = Instant::now();
        while orders.position() == before {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "the list does not follow the store"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        follower.abort();
    }

    #[tokio::test]
    async fn a_list_that_is_still_read_after_a_change_is_outdated() {
        let (orders, store, _directory) = one_order().await;
        let first = orders.list().await.unwrap();
        let reader = orders.readers.register(&first);
        assert_eq!(orders.outdated_bytes(), 0);
        store.ship_orders(&[1]).unwrap();
        orders.list().await.unwrap();
        assert_eq!(orders.outdated_bytes(), first.held_bytes());
        drop(reader);
        assert_eq!(orders.outdated_bytes(), 0);
    }

    #[tokio::test]
    async fn a_refresh_cuts_off_the_oldest_list_that_is_still_read() {
        let (orders, store, _directory) = one_order().await;
        let oldest = orders.readers.register(&orders.list().await.unwrap());
        store.ship_orders(&[1]).unwrap();
        let newer = orders.readers.register(&orders.list().await.unwrap());
        assert!(oldest.snapshot().is_ok());
        store.import(Records::Orders(&[Order::pending(2)]), false).unwrap();
        orders.list().await.unwrap();
        assert!(oldest.snapshot().is_err() && newer.snapshot().is_ok());
        assert_eq!(orders.lists_cut_off().get(), 1);
    }
}
