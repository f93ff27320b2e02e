//! Holds the list in memory and refreshes its snapshot. A refresh plans how the snapshot catches up
//! with the store, reads the missing changes, and applies them.

use super::sent_lists::{SentList, SentLists};
use super::snapshot::{Edit, Sizes, Snapshot};
use crate::blocking::run;
use crate::store::agreement::list::{CatchUp, ListState};
use crate::store::{
    CancelledBatch, FreshnessReport, Order, OrderSender, OrdersRead, Position, Store, StoreError,
};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The list in memory: a snapshot and its pending removals. `sent` keeps track of the snapshots
/// that responses are still sending.
#[derive(Debug)]
pub struct ListInMemory {
    list: ListState<Arc<Snapshot>, Vec<i64>>,
    sent: SentLists,
}

impl ListInMemory {
    /// Creates the list. `snapshot` reflects all changes up to the position `applied`.
    pub fn new(snapshot: Arc<Snapshot>, applied: Position) -> ListInMemory {
        ListInMemory { list: ListState::new(snapshot, applied), sent: SentLists::default() }
    }

    pub async fn open(store: &dyn Store, sizes: Sizes) -> Result<ListInMemory, StoreError> {
        let history = store.poll_changes().await?.last_changes.orders.history;
        let empty = Arc::new(Snapshot::empty(sizes));
        let (snapshot, applied) = read_changes(store, empty, Position::beginning(history)).await?;
        Ok(ListInMemory::new(snapshot, applied))
    }

    /// Adds the cancelled orders of one transaction to the pending removals. Adds nothing if the
    /// list lacks an earlier change ([`ListState::add_removals`]).
    pub fn remove(&mut self, orders: impl Iterator<Item = i64>, batch: &CancelledBatch) {
        let add = |removals: &mut Vec<i64>| removals.extend(orders);
        self.list.add_removals(batch.positions, add);
    }

    /// Returns the list's position, which counts pending removals as already applied.
    pub fn position(&self) -> Position {
        self.list.position()
    }

    pub fn snapshot_and_removals(&self) -> (Arc<Snapshot>, usize) {
        (Arc::clone(&self.list.snapshot), self.list.pending_removals.len())
    }

    /// Returns the snapshot if it includes all changes up to `stored`. Returns `None` if a refresh
    /// is needed.
    pub fn current(&self, stored: Position) -> Option<Arc<Snapshot>> {
        let is_current = self.list.plan(stored, None) == CatchUp::Nothing;
        is_current.then(|| Arc::clone(&self.list.snapshot))
    }

    /// Replaces the snapshot, and returns the old one. Drops at least the first `removals` pending
    /// removals, which the refresh has applied or discarded.
    pub fn publish(
        &mut self,
        snapshot: &Arc<Snapshot>,
        reached: Position,
        removals: usize,
    ) -> Arc<Snapshot> {
        let drop_applied = |pending: &mut Vec<i64>| drop(pending.drain(..removals));
        self.list.publish(Arc::clone(snapshot), reached, drop_applied)
    }

    /// Returns the [`SentList`] that all responses with this snapshot share. The server can then
    /// cut off these responses together.
    pub fn register(&mut self, snapshot: &Arc<Snapshot>) -> Arc<SentList> {
        self.sent.register(snapshot)
    }

    /// Returns the memory in bytes of the outdated lists that are being sent.
    pub fn outdated_bytes(&self) -> usize {
        self.sent.outdated_bytes(&self.list.snapshot)
    }

    /// Returns the oldest outdated lists, which the caller must cut off. The other outdated lists
    /// hold at most `bound` bytes, or only the newest one is left. [`SentLists::excess`] explains
    /// why the newest list stays.
    pub fn excess(&self, bound: usize) -> Vec<Arc<SentList>> {
        self.sent.excess(&self.list.snapshot, bound)
    }

    /// Plans how the snapshot catches up with the store.
    ///
    /// The caller must publish each refresh before planning the next. `publish` deletes the oldest
    /// pending removals, as many as its refresh contains. If two refreshes contained the same
    /// removals, the second `publish` would delete removals that no refresh has applied.
    pub fn plan_refresh(&self, latest: FreshnessReport) -> Refresh {
        let rows_after = latest.changes.as_ref().map(|changes| changes.after);
        let mut removals = self.list.pending_removals.clone();
        removals.sort_unstable();
        Refresh {
            base: Arc::clone(&self.list.snapshot),
            catch_up: self.list.plan(latest.last_changes.orders, rows_after),
            removals,
            latest,
        }
    }
}

#[derive(Debug)]
pub struct Refresh {
    base: Arc<Snapshot>,
    catch_up: CatchUp,
    /// The ids of the pending removals, in ascending order. These orders were cancelled, but `base`
    /// still contains them.
    removals: Vec<i64>,
    latest: FreshnessReport,
}

impl Refresh {
    /// True if the refresh reads the store or may change more than `pages` pages.
    pub fn is_long(&self, pages: usize) -> bool {
        if let CatchUp::ReadingAfter(_) | CatchUp::ReadingAll(_) = self.catch_up {
            return true;
        }
        let mut ids: Vec<i64> = self.rows().iter().map(|order| order.id).collect();
        ids.extend(&self.removals);
        ids.sort_unstable();
        self.base.pages_of(&ids) > pages
    }

    /// Reads from the store the changes that the snapshot lacks. Reads nothing if the refresh
    /// already has these changes.
    pub async fn read(self, store: &dyn Store) -> Result<ReadRefresh, StoreError> {
        let base = Arc::clone(&self.base);
        let (base, reached) = match self.catch_up {
            CatchUp::Nothing => (base, self.latest.last_changes.orders),
            CatchUp::Removals(reached) | CatchUp::Rows(reached) => (base, reached),
            CatchUp::ReadingAfter(after) | CatchUp::ReadingAll(after) => {
                read_changes(store, base, after).await?
            }
        };
        Ok(ReadRefresh { base, reached, planned: self })
    }

    /// Returns the changed orders of the freshness report, or an empty slice if the refresh does
    /// not apply them.
    fn rows(&self) -> &[Order] {
        match &self.latest.changes {
            Some(changes) if matches!(self.catch_up, CatchUp::Rows(_)) => &changes.orders,
            _ => &[],
        }
    }
}

/// A refresh that has read everything it needs from the store.
#[derive(Debug)]
pub struct ReadRefresh {
    /// The snapshot with the changes that the refresh read from the store. The freshness report's
    /// rows and the pending removals are applied later.
    base: Arc<Snapshot>,
    /// The position of the new snapshot, which consists of `base` with the planned rows and
    /// removals.
    reached: Position,
    planned: Refresh,
}

impl ReadRefresh {
    pub fn apply(self, state: &Mutex<ListInMemory>) -> Arc<Snapshot> {
        let snapshot = self.next_snapshot();
        let removals = self.planned.removals.len();
        let old = state.lock().publish(&snapshot, self.reached, removals);
        // Dropping a snapshot can take long, so it is dropped after the lock is released.
        drop(old);
        snapshot
    }

    fn next_snapshot(&self) -> Arc<Snapshot> {
        let Refresh { catch_up, removals, .. } = &self.planned;
        let mut next = Arc::clone(&self.base);
        if matches!(catch_up, CatchUp::Rows(_)) {
            let mut edit = Edit::new(&next);
            self.planned.rows().iter().for_each(|order| edit.apply(order.clone()));
            next = Arc::new(edit.finish());
        }
        // `ReadingAll` reads a new history, which may lack the cancellations of the earlier
        // history. So the pending removals are discarded.
        if !removals.is_empty() && !matches!(catch_up, CatchUp::ReadingAll(_)) {
            let mut edit = Edit::new(&next);
            removals.iter().for_each(|id| edit.remove(*id));
            next = Arc::new(edit.finish());
        }
        next
    }
}

/// The maximum number of messages with changed orders that wait to be applied to the snapshot.
/// Without this limit, a fast store could fill the memory with messages.
const BATCHES_AHEAD: usize = 4;

async fn read_changes(
    store: &dyn Store,
    snapshot: Arc<Snapshot>,
    after: Position,
) -> Result<(Arc<Snapshot>, Position), StoreError> {
    read_until_all(snapshot, after, |after, to| store.send_orders_since(after, to)).await
}

async fn read_until_all<F: Future<Output = Result<OrdersRead, StoreError>>>(
    mut snapshot: Arc<Snapshot>,
    after: Position,
    mut send_orders_since: impl FnMut(Position, OrderSender) -> F,
) -> Result<(Arc<Snapshot>, Position), StoreError> {
    let mut read = OrdersRead { reached: after, is_all: false };
    // A read may stop early, and may miss a row that changes during the read. So read again until
    // the list is complete.
    while !read.is_all {
        // A read from the beginning does not report cancellations. So begin with an empty snapshot,
        // because orders that are now cancelled would stay in the old one.
        if read.reached.is_beginning() {
            snapshot = Arc::new(snapshot.to_empty());
        }
        let (sender, mut changes) = mpsc::channel::<Vec<Order>>(BATCHES_AHEAD);
        let editing = run(move || {
            let mut edit = Edit::new(&snapshot);
            while let Some(orders) = changes.blocking_recv() {
                orders.into_iter().for_each(|order| edit.apply(order));
            }
            edit.finish()
        });
        let (result, edited) = tokio::join!(send_orders_since(read.reached, sender), editing);
        read = result?;
        snapshot = Arc::new(edited);
    }
    Ok((snapshot, read.reached))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::edit::tests::{cancelled, snapshot, text};
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{ChangedOrders, LastChanges, OperatorStore, OrderStatus, Records};

    /// A position in an embedded store, whose history is 0.
    fn change(number: i64) -> Position {
        Position { history: 0, number }
    }

    /// Returns a list that has several pages and reflects change 5.
    fn state() -> Mutex<ListInMemory> {
        let snapshot = Arc::new(snapshot(200));
        Mutex::new(ListInMemory::new(snapshot, change(5)))
    }

    /// Returns the report of a store whose last change is `stored`. `changes` has a change number,
    /// and the orders that changed after that number.
    fn latest(stored: Position, changes: Option<(i64, Vec<Order>)>) -> FreshnessReport {
        let changes =
            changes.map(|(after, orders)| Arc::new(ChangedOrders { after: change(after), orders }));
        let last_changes = LastChanges::new(stored.history, stored.number, 0);
        FreshnessReport { last_changes, changes }
    }

    fn plan(state: &Mutex<ListInMemory>, latest: FreshnessReport) -> Refresh {
        let state = state.lock();
        assert!(state.current(latest.last_changes.orders).is_none());
        state.plan_refresh(latest)
    }

    async fn run_refresh(state: &Mutex<ListInMemory>, refresh: Refresh) -> Arc<Snapshot> {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        refresh.read(&store).await.unwrap().apply(state)
    }

    fn contains<const N: usize>(snapshot: &Snapshot, ids: [i64; N]) -> [bool; N] {
        let listed = text(snapshot);
        ids.map(|id| listed.contains(&format!(r#"{{"id":{id},"#)))
    }

    fn batch(history: u64, before: i64, after: i64) -> CancelledBatch {
        let position = |number| Position { history, number };
        let positions = Some((position(before), position(after)));
        CancelledBatch { outcomes: Vec::new(), positions }
    }

    #[test]
    fn a_snapshot_that_lacks_a_change_is_not_current() {
        let mut state = state().into_inner();
        assert!(state.current(change(5)).is_some() && state.current(change(4)).is_some());
        assert!(state.current(change(6)).is_none());
        state.remove([3].into_iter(), &batch(0, 5, 6));
        assert!(state.current(change(6)).is_none());
        assert!(
            state.current(change(5)).is_some(),
            "the store was queried before the cancellation"
        );
    }

    #[tokio::test]
    async fn a_refresh_keeps_the_removals_that_arrive_while_it_runs() {
        let state = state();
        state.lock().remove([7, 3].into_iter(), &batch(0, 5, 6));
        let refresh = plan(&state, latest(change(6), None));
        assert!(refresh.is_long(0) && !refresh.is_long(1));
        state.lock().remove([5].into_iter(), &batch(0, 6, 7));
        let listed = run_refresh(&state, refresh).await;
        assert_eq!(contains(&listed, [2, 3, 5, 7]), [true, false, true, false]);
        let list = state.into_inner().list;
        assert_eq!((list.position(), &list.pending_removals[..]), (change(7), &[5][..]));
    }

    #[tokio::test]
    async fn rows_in_the_answer_are_applied_without_reading_the_store() {
        let state = state();
        state.lock().remove([7].into_iter(), &batch(0, 5, 6));
        // The rows still contain order 7, so the refresh must apply the rows before
        // `pending_removals`.
        let rows = vec![
            cancelled(3),
            Order::pending(7),
            Order { status: OrderStatus::Shipped, ..Order::pending(901) },
        ];
        let refresh = plan(&state, latest(change(8), Some((5, rows.clone()))));
        assert!(refresh.is_long(0) && !refresh.is_long(2));
        let listed = run_refresh(&state, refresh).await;
        assert_eq!(contains(&listed, [2, 3, 7, 901]), [true, false, false, true]);
        assert_eq!(state.lock().position(), change(8));
        assert!(state.lock().list.pending_removals.is_empty());
        // Neither the list nor `rows` has change 9, so the store must be read.
        let refresh = plan(&state, latest(change(10), Some((9, rows))));
        assert_eq!(refresh.catch_up, CatchUp::ReadingAfter(change(8)));
    }

    #[tokio::test]
    async fn a_read_that_begins_again_drops_the_rows_of_the_previous_one() {
        // An import during the first read makes the server read everything again. Order 5 is
        // cancelled between the two reads.
        let mut reads = (0..).zip([5, 901]);
        let empty = Arc::new(snapshot(0));
        let (listed, reached) = read_until_all(empty, change(0), |after, to| {
            assert_eq!(after, change(0));
            let (number, order) = reads.next().unwrap();
            async move {
                to.send(vec![Order::pending(order)]).await.unwrap();
                Ok(OrdersRead { reached: change(2 * number), is_all: number == 1 })
            }
        })
        .await
        .unwrap();
        assert_eq!((contains(&listed, [901, 5]), reached), ([true, false], change(2)));
    }

    #[tokio::test]
    async fn in_a_new_history_everything_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[Order::pending(901)]), false).unwrap();
        let applied = Position { history: 1, number: 5 };
        let state = Mutex::new(ListInMemory::new(Arc::new(snapshot(200)), applied));
        state.lock().remove([3].into_iter(), &batch(1, 5, 6));
        // Numbers of different histories cannot be compared. The list has change 6 of history 1,
        // but it lacks change 1 of history 0.
        assert!(state.lock().current(change(1)).is_none());
        let refresh = plan(&state, latest(change(1), None));
        assert!(refresh.is_long(usize::MAX));
        state.lock().remove([5].into_iter(), &batch(0, 1, 2));
        let listed = refresh.read(&store).await.unwrap().apply(&state);
        assert_eq!(contains(&listed, [901, 5]), [true, false]);
        let list = state.into_inner().list;
        assert_eq!((list.position(), list.pending_removals.len()), (change(1), 0));
    }
}
