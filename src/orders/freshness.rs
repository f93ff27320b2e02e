//! Keeps the snapshot fresh: plans a refresh, and carries it out.

use super::snapshot::{Edit, ListMemory, Sizes, Snapshot};
use crate::blocking::run;
use crate::store::agreement::list::{CatchUp, ListState};
use crate::store::{
    CancelledBatch, ChangeNumber, ChangedOrder, FreshnessReport, OrderChange, OrderSender,
    OrdersRead, Store, StoreError,
};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A snapshot is joined when it is listed for this time: before, it is not known
/// whether the copy pays.
const JOINED_AT_LIST: usize = 2;

/// The list in memory.
#[derive(Debug)]
pub struct ListInMemory {
    list: ListState<Arc<Snapshot>, Vec<i64>>,
    /// The number of lists that were sent with this snapshot.
    times_listed: usize,
}

impl ListInMemory {
    /// All orders of the store.
    pub async fn open(
        store: &dyn Store,
        sizes: Sizes,
        memory: ListMemory,
    ) -> Result<ListInMemory, StoreError> {
        let none = ChangeNumber::beginning(store.poll_changes().await?.last_changes.generation);
        let empty = Arc::new(Snapshot::empty(sizes, memory));
        let (snapshot, applied) = read_changes(store, Arc::clone(&empty), none).await?;
        snapshot.replace(empty);
        Ok(ListInMemory { list: ListState::new(snapshot, applied), times_listed: 0 })
    }

    /// Adds the cancellations of one transaction to the pending removals.
    pub fn remove(&mut self, orders: impl Iterator<Item = i64>, batch: &CancelledBatch) {
        let add = |removals: &mut Vec<i64>| removals.extend(orders);
        self.list.cancelled(batch.generation, batch.change_numbers, add);
    }

    /// The last change that the list reflects without the pending removals.
    pub fn reflected_after_removals(&self) -> ChangeNumber {
        self.list.reflected_after_removals()
    }

    /// The snapshot, and the number of its orders that are cancelled.
    pub fn counted(&self) -> (Arc<Snapshot>, usize) {
        (Arc::clone(&self.list.snapshot), self.list.pending_removals.len())
    }

    /// The snapshot for a list, if it reflects this change of the store. Joins it when it is
    /// listed for the second time.
    pub fn current(&mut self, stored: ChangeNumber) -> Option<Arc<Snapshot>> {
        if self.list.plan(stored, None) != CatchUp::Nothing {
            return None;
        }
        self.times_listed += 1;
        if self.times_listed == JOINED_AT_LIST
            && let Some(joined) = self.list.snapshot.joined()
        {
            let old = std::mem::replace(&mut self.list.snapshot, Arc::new(joined));
            self.list.snapshot.replace(old);
        }
        Some(Arc::clone(&self.list.snapshot))
    }

    /// Plans how the snapshot catches up with the store. Run one refresh at a time.
    pub fn plan_refresh(&self, latest: FreshnessReport) -> Refresh {
        let rows_after = latest.changes.as_ref().map(|changes| changes.after);
        let mut removals = self.list.pending_removals.clone();
        removals.sort_unstable();
        Refresh {
            base: Arc::clone(&self.list.snapshot),
            catch_up: self.list.plan(latest.last_changes.of_orders(), rows_after),
            removals,
            latest,
        }
    }
}

/// A planned refresh of the snapshot.
#[derive(Debug)]
pub struct Refresh {
    base: Arc<Snapshot>,
    catch_up: CatchUp,
    /// The pending removals, in ascending order.
    removals: Vec<i64>,
    latest: FreshnessReport,
}

impl Refresh {
    /// True if the refresh reads the store, or changes more pages than this.
    pub fn is_long(&self, pages: usize) -> bool {
        if let CatchUp::ReadingAfter(_) | CatchUp::ReadingAll(_) = self.catch_up {
            return true;
        }
        let mut ids: Vec<i64> = self.rows().iter().map(|order| order.id).collect();
        ids.extend(&self.removals);
        ids.sort_unstable();
        self.base.pages_of(&ids) > pages
    }

    /// Reads what the store holds after the snapshot, if that is planned.
    pub async fn read(self, store: &dyn Store) -> Result<ReadRefresh, StoreError> {
        let base = Arc::clone(&self.base);
        let (base, reached) = match self.catch_up {
            CatchUp::Nothing => (base, self.latest.last_changes.of_orders()),
            CatchUp::Removals(reached) | CatchUp::Rows(reached) => (base, reached),
            CatchUp::ReadingAfter(after) | CatchUp::ReadingAll(after) => {
                read_changes(store, base, after).await?
            }
        };
        Ok(ReadRefresh { base, reached, planned: self })
    }

    /// The rows that came with the answer, if they are applied.
    fn rows(&self) -> &[ChangedOrder] {
        match &self.latest.changes {
            Some(changes) if matches!(self.catch_up, CatchUp::Rows(_)) => &changes.orders,
            _ => &[],
        }
    }
}

/// A refresh that has read what it needs of the store.
#[derive(Debug)]
pub struct ReadRefresh {
    /// The snapshot with what was read.
    base: Arc<Snapshot>,
    /// The change that it reflects once rows and removals are applied.
    reached: ChangeNumber,
    planned: Refresh,
}

impl ReadRefresh {
    /// Brings the list up to date.
    pub fn apply(self, state: &Mutex<ListInMemory>) -> Arc<Snapshot> {
        let snapshot = self.next_snapshot();
        let state = &mut *state.lock();
        let done = self.planned.removals.len();
        let remove_done = |removals: &mut Vec<i64>| drop(removals.drain(..done));
        let old = state.list.publish(Arc::clone(&snapshot), self.reached, remove_done);
        snapshot.replace(old);
        state.times_listed = 1;
        snapshot
    }

    fn next_snapshot(&self) -> Arc<Snapshot> {
        let Refresh { catch_up, removals, .. } = &self.planned;
        let mut next = Arc::clone(&self.base);
        if matches!(catch_up, CatchUp::Rows(_)) {
            let rows = self.planned.rows().iter().map(ChangedOrder::change);
            next = edited(&next, rows, self.reached);
        }
        // A list of another generation never had these.
        if !removals.is_empty() && !matches!(catch_up, CatchUp::ReadingAll(_)) {
            let removals = removals.iter().map(|id| OrderChange::Removed(*id));
            next = edited(&next, removals, self.reached);
        }
        next
    }
}

/// The snapshot with these changes, in ascending order of id, which lead to this change.
fn edited<'a>(
    base: &Snapshot,
    changes: impl Iterator<Item = OrderChange<'a>>,
    reached: ChangeNumber,
) -> Arc<Snapshot> {
    let mut edit = Edit::of(base);
    changes.for_each(|change| edit.apply(change));
    Arc::new(edit.finish().at_change(reached.number))
}

/// How many times orders may be sent before the edit takes them.
const SENT_AHEAD: usize = 4;

/// The snapshot with what the store holds after this change, and the change that it then reflects.
async fn read_changes(
    store: &dyn Store,
    snapshot: Arc<Snapshot>,
    after: ChangeNumber,
) -> Result<(Arc<Snapshot>, ChangeNumber), StoreError> {
    read_until_all(snapshot, after, |after, to| store.send_orders_since(after, to)).await
}

async fn read_until_all<F: Future<Output = Result<OrdersRead, StoreError>>>(
    mut snapshot: Arc<Snapshot>,
    after: ChangeNumber,
    mut send_orders_since: impl FnMut(ChangeNumber, OrderSender) -> F,
) -> Result<(Arc<Snapshot>, ChangeNumber), StoreError> {
    let mut read = OrdersRead { reached: after, is_all: false };
    // Until all is read, rows are missing that were changed again after the change reached.
    while !read.is_all {
        // Of an order that came with a read of all and is gone since, another one has no row.
        if read.reached.is_beginning() {
            snapshot = Arc::new(snapshot.emptied());
        }
        let (sender, mut changes) = mpsc::channel::<Vec<ChangedOrder>>(SENT_AHEAD);
        let editing = run(move || {
            let mut edit = Edit::of(&snapshot);
            while let Some(orders) = changes.blocking_recv() {
                orders.iter().for_each(|order| edit.apply(order.change()));
            }
            edit.finish()
        });
        let (sent, edited) = tokio::join!(send_orders_since(read.reached, sender), editing);
        read = sent?;
        snapshot = Arc::new(edited.at_change(read.reached.number));
    }
    Ok((snapshot, read.reached))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::edit::tests::{snapshot, text};
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{ChangedOrders, LastChanges, NewOrder, OperatorStore, Records, Status};

    /// A change number of the generation of an embedded store.
    fn at(number: i64) -> ChangeNumber {
        ChangeNumber { generation: 0, number }
    }

    /// A list of several pages at change 5.
    fn state() -> Mutex<ListInMemory> {
        let snapshot = Arc::new(snapshot(200));
        Mutex::new(ListInMemory { list: ListState::new(snapshot, at(5)), times_listed: 0 })
    }

    /// The answer of a store at this change, and the rows that came with it.
    fn latest(stored: ChangeNumber, changes: Option<(i64, Vec<ChangedOrder>)>) -> FreshnessReport {
        let ChangeNumber { generation, number: orders } = stored;
        let changes =
            changes.map(|(after, orders)| Arc::new(ChangedOrders { after: at(after), orders }));
        FreshnessReport {
            history: 0,
            last_changes: LastChanges { generation, orders, keys: 0 },
            changes,
        }
    }

    /// Plans the refresh of a list that is behind.
    fn plan(state: &Mutex<ListInMemory>, latest: FreshnessReport) -> Refresh {
        let mut state = state.lock();
        assert!(state.current(latest.last_changes.of_orders()).is_none());
        state.plan_refresh(latest)
    }

    /// The list after a refresh that reads nothing of the store.
    async fn refreshed(state: &Mutex<ListInMemory>, refresh: Refresh) -> Arc<Snapshot> {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        refresh.read(&store).await.unwrap().apply(state)
    }

    fn changed(id: i64, status: Status) -> ChangedOrder {
        let (ship_date, complete) = (None, false);
        ChangedOrder { id, pet_id: 7, quantity: 1, ship_date, complete, status }
    }

    /// Which of these the snapshot lists.
    fn lists<const N: usize>(snapshot: &Snapshot, ids: [i64; N]) -> [bool; N] {
        let listed = text(snapshot);
        ids.map(|id| listed.contains(&format!(r#"{{"id":{id},"#)))
    }

    fn batch(generation: u64, before: i64, after: i64) -> CancelledBatch {
        CancelledBatch { outcomes: Vec::new(), generation, change_numbers: Some((before, after)) }
    }

    #[test]
    fn a_snapshot_that_lacks_something_is_not_current() {
        let mut state = state().into_inner();
        assert!(state.current(at(5)).is_some() && state.current(at(4)).is_some());
        assert!(state.current(at(6)).is_none());
        state.remove([3].into_iter(), &batch(0, 5, 6));
        assert!(state.current(at(6)).is_none());
        assert!(state.current(at(5)).is_some(), "the store was asked before the cancellation");
    }

    #[test]
    fn the_second_list_of_a_snapshot_joins_it() {
        let mut state = state().into_inner();
        let [first, second, third] = [(); 3].map(|()| state.current(at(5)).unwrap());
        assert!(first.parts().count() > 1);
        assert_eq!(second.parts().count(), 1);
        assert!(Arc::ptr_eq(&second, &third));
    }

    #[tokio::test]
    async fn a_refresh_leaves_what_is_removed_while_it_runs() {
        let state = state();
        state.lock().remove([7, 3].into_iter(), &batch(0, 5, 6));
        let refresh = plan(&state, latest(at(6), None));
        assert!(refresh.is_long(0) && !refresh.is_long(1));
        state.lock().remove([5].into_iter(), &batch(0, 6, 7));
        let listed = refreshed(&state, refresh).await;
        assert_eq!(lists(&listed, [2, 3, 5, 7]), [true, false, true, false]);
        let list = state.into_inner().list;
        assert_eq!(
            (list.reflected_after_removals(), &list.pending_removals[..]),
            (at(7), &[5][..])
        );
    }

    #[tokio::test]
    async fn rows_that_came_with_the_answer_are_applied_without_reading() {
        let state = state();
        state.lock().remove([7].into_iter(), &batch(0, 5, 6));
        // 7 was updated after another server's change at 5, and cancelled here afterwards.
        let rows = vec![
            changed(3, Status::Cancelled),
            changed(7, Status::Pending),
            changed(901, Status::Shipped),
        ];
        let refresh = plan(&state, latest(at(8), Some((5, rows.clone()))));
        assert!(refresh.is_long(0) && !refresh.is_long(2));
        let listed = refreshed(&state, refresh).await;
        assert_eq!(lists(&listed, [2, 3, 7, 901]), [true, false, false, true]);
        assert_eq!(state.lock().reflected_after_removals(), at(8));
        assert!(state.lock().list.pending_removals.is_empty());
        // Rows after a later change than the list's would leave out what is in between.
        let refresh = plan(&state, latest(at(10), Some((9, rows))));
        assert_eq!(refresh.catch_up, CatchUp::ReadingAfter(at(8)));
    }

    #[tokio::test]
    async fn a_read_that_begins_again_forgets_what_the_one_before_read() {
        // The first import is committed meanwhile, and order 5 of it cancelled before the second.
        let mut reads = (0..).zip([5, 901]);
        let empty = Arc::new(snapshot(0));
        let (listed, reached) = read_until_all(empty, at(0), |after, to| {
            assert_eq!(after, at(0));
            let (number, order) = reads.next().unwrap();
            async move {
                to.send(vec![changed(order, Status::Pending)]).await.unwrap();
                Ok(OrdersRead { reached: at(2 * number), is_all: number == 1 })
            }
        })
        .await
        .unwrap();
        assert_eq!((lists(&listed, [901, 5]), reached), ([true, false], at(2)));
    }

    #[tokio::test]
    async fn of_another_generation_the_list_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        store.import(Records::Orders(&[NewOrder::pending(901)]), false).unwrap();
        let applied = ChangeNumber { generation: 1, number: 5 };
        let list = ListState::new(Arc::new(snapshot(200)), applied);
        let state = Mutex::new(ListInMemory { list, times_listed: 0 });
        state.lock().remove([3].into_iter(), &batch(1, 5, 6));
        // Change 1 of this generation is not behind change 6 of the other.
        assert!(state.lock().current(at(1)).is_none());
        let refresh = plan(&state, latest(at(1), None));
        assert!(refresh.is_long(usize::MAX));
        state.lock().remove([5].into_iter(), &batch(0, 1, 2));
        let listed = refresh.read(&store).await.unwrap().apply(&state);
        assert_eq!(lists(&listed, [901, 5]), [true, false]);
        let list = state.into_inner().list;
        assert_eq!((list.reflected_after_removals(), list.pending_removals.len()), (at(1), 0));
    }
}
