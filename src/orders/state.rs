//! What lists and the writer share: the snapshot, and what it lacks.

use super::edit::Edit;
use super::memory::ListMemory;
use super::sizes::Sizes;
use super::snapshot::Snapshot;
use crate::store::{CancelledBatch, HalfVersion, OrderChange, Store, StoreError};
use parking_lot::Mutex;
use std::sync::Arc;

/// A snapshot is joined when it is listed for this time: before, it is not known
/// whether the copy pays.
const JOINED_AT_LIST: usize = 2;

/// The snapshot and the cancellations that it does not reflect yet.
#[derive(Debug)]
pub struct State {
    snapshot: Arc<Snapshot>,
    /// How many lists have been given this snapshot.
    lists: usize,
    /// The version of the store that the snapshot and `removed` reflect together.
    version: HalfVersion,
    /// Cancelled orders that are still in the snapshot.
    removed: Vec<i64>,
}

impl State {
    /// All orders of the store. Blocks.
    pub fn open(store: &dyn Store, sizes: Sizes, memory: ListMemory) -> Result<State, StoreError> {
        let none = HalfVersion::beginning(store.poll_versions()?.versions.generation);
        let empty = Snapshot::empty(sizes, memory);
        let (snapshot, version) = read_changes(store, &empty, none)?;
        snapshot.replace(Arc::new(empty));
        Ok(State { snapshot, lists: 0, version, removed: Vec::new() })
    }

    /// Adds the cancellations of one transaction, which brought the store from one
    /// version to another. If the list is not at the first, changes of another
    /// process are missing, and its version stays until they have been read. If it is at
    /// another generation, it is read again, with these.
    pub fn remove(&mut self, orders: impl Iterator<Item = i64>, done: &CancelledBatch) {
        if self.version.generation != done.generation {
            return;
        }
        self.removed.extend(orders);
        self.version = self.version.after(done);
    }

    /// The version of the store that lists are made of.
    pub fn version(&self) -> HalfVersion {
        self.version
    }

    /// The snapshot, current or not.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The snapshot, and how many orders of it are cancelled.
    pub fn counted(&self) -> (Arc<Snapshot>, usize) {
        (Arc::clone(&self.snapshot), self.removed.len())
    }

    /// The snapshot for a list, if it reflects this version of the store and all
    /// removals. Joins it when it is listed for the second time.
    pub fn current(&mut self, stored: HalfVersion) -> Option<Arc<Snapshot>> {
        if stored.has_more_than(self.version) || !self.removed.is_empty() {
            return None;
        }
        self.lists += 1;
        if self.lists == JOINED_AT_LIST
            && let Some(joined) = self.snapshot.joined()
        {
            self.publish(Arc::new(joined));
        }
        Some(Arc::clone(&self.snapshot))
    }

    fn publish(&mut self, snapshot: Arc<Snapshot>) {
        let old = std::mem::replace(&mut self.snapshot, snapshot);
        self.snapshot.replace(old);
    }
}

/// A refresh of the snapshot, prepared. Only one is under way at a time.
#[derive(Debug)]
pub struct Refresh {
    base: Arc<Snapshot>,
    version: HalfVersion,
    /// In ascending order.
    removed: Vec<i64>,
    is_behind: bool,
}

impl Refresh {
    /// What brings the snapshot to this version of the store, and takes the removed
    /// orders out of it.
    pub fn of(state: &Mutex<State>, stored: HalfVersion) -> Refresh {
        let state = state.lock();
        let (base, version) = (Arc::clone(&state.snapshot), state.version);
        // At number 0 the store tells of no order that is gone, and a snapshot may hold one that came
        // while it was read.
        if stored.generation != version.generation || version.number == 0 {
            drop(state);
            let (base, version) =
                (Arc::new(base.emptied()), HalfVersion::beginning(stored.generation));
            return Refresh { base, version, removed: Vec::new(), is_behind: true };
        }
        let mut removed = state.removed.clone();
        drop(state);
        removed.sort_unstable();
        let is_behind = stored.has_more_than(version);
        Refresh { base, version, removed, is_behind }
    }

    /// Whether the store has to be read, or more pages than this are changed.
    pub fn is_long(&self, pages: usize) -> bool {
        self.is_behind || self.base.pages_of(&self.removed) > pages
    }

    /// Brings the snapshot up to date. Blocks.
    pub fn run(
        mut self,
        state: &Mutex<State>,
        store: &dyn Store,
    ) -> Result<Arc<Snapshot>, StoreError> {
        if self.is_behind {
            (self.base, self.version) = read_changes(store, &self.base, self.version)?;
        }
        self.remove();
        let mut state = state.lock();
        state.publish(Arc::clone(&self.base));
        state.lists = 1;
        if state.version.generation != self.version.generation {
            // What was removed from the list of another generation is none of this one's.
            state.removed.clear();
            state.version = self.version;
            return Ok(self.base);
        }
        // The writer may be further by now.
        state.version.number = state.version.number.max(self.version.number);
        state.removed.drain(..self.removed.len());
        Ok(self.base)
    }

    /// Takes the removed orders out of the base.
    fn remove(&mut self) {
        if !self.removed.is_empty() {
            let mut edit = Edit::of(&self.base);
            self.removed.iter().for_each(|id| edit.apply(OrderChange::Removed(*id)));
            self.base = Arc::new(edit.finish().at_change(self.version.number));
        }
    }
}

/// The snapshot with what the store holds after this version, and the version that
/// it then reflects.
fn read_changes(
    store: &dyn Store,
    base: &Snapshot,
    after: HalfVersion,
) -> Result<(Arc<Snapshot>, HalfVersion), StoreError> {
    let mut edit = Edit::of(base);
    let version = store.for_each_order_since(after, &mut |change| edit.apply(change))?;
    Ok((Arc::new(edit.finish().at_change(version.number)), version))
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::{snapshot, text};
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{NewOrder, OperatorStore, Records};

    /// A version of the generation of an embedded store.
    fn at(number: i64) -> HalfVersion {
        HalfVersion { generation: 0, number }
    }

    /// A list of several pages at version 5.
    fn state() -> Mutex<State> {
        let snapshot = Arc::new(snapshot(200));
        Mutex::new(State { snapshot, lists: 0, version: at(5), removed: Vec::new() })
    }

    fn batch(generation: u64, before: i64, after: i64) -> CancelledBatch {
        CancelledBatch { outcomes: Vec::new(), generation, versions: Some((before, after)) }
    }

    #[test]
    fn removals_move_the_version_only_from_where_it_stands() {
        let mut state = state().into_inner();
        state.remove([3].into_iter(), &batch(0, 5, 6));
        assert_eq!((state.version, &state.removed[..]), (at(6), &[3][..]));
        // Another process brought the store to 7.
        state.remove([2].into_iter(), &batch(0, 7, 8));
        assert_eq!((state.version, &state.removed[..]), (at(6), &[3, 2][..]));
    }

    #[test]
    fn a_snapshot_that_lacks_something_is_not_current() {
        let mut state = state().into_inner();
        assert!(state.current(at(5)).is_some() && state.current(at(4)).is_some());
        assert!(state.current(at(6)).is_none());
        state.remove([3].into_iter(), &batch(0, 5, 6));
        assert!(state.current(at(6)).is_none());
    }

    #[test]
    fn the_second_list_of_a_snapshot_joins_it() {
        let mut state = state().into_inner();
        let [first, second, third] = [(); 3].map(|()| state.current(at(5)).unwrap());
        assert!(first.parts().count() > 1);
        assert_eq!(second.parts().count(), 1);
        assert!(Arc::ptr_eq(&second, &third));
    }

    #[test]
    fn a_refresh_leaves_what_is_removed_while_it_runs() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let state = state();
        state.lock().remove([7, 3].into_iter(), &batch(0, 5, 6));
        let refresh = Refresh::of(&state, at(6));
        assert!(refresh.is_long(0) && !refresh.is_long(1));
        state.lock().remove([5].into_iter(), &batch(0, 6, 7));
        let listed = text(&refresh.run(&state, &store).unwrap());
        let lists = |id: i64| listed.contains(&format!(r#"{{"id":{id},"#));
        assert_eq!([2, 3, 5, 7].map(lists), [true, false, true, false]);
        let state = state.into_inner();
        assert_eq!((state.version, &state.removed[..]), (at(7), &[5][..]));
    }

    #[test]
    fn before_the_first_change_the_list_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[NewOrder::pending(901)]), false).unwrap();
        // Read while the first import was stored; all of these were cancelled since.
        let state = state();
        state.lock().version = at(0);
        let listed = text(&Refresh::of(&state, at(1)).run(&state, &store).unwrap());
        assert!(listed.contains(r#"{"id":901,"#) && !listed.contains(r#"{"id":5,"#), "{listed}");
        assert_eq!(state.into_inner().version, at(1));
    }

    #[test]
    fn of_another_generation_the_list_is_read_anew() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[NewOrder::pending(901)]), false).unwrap();
        let state = state();
        state.lock().version.generation = 1;
        state.lock().remove([3].into_iter(), &batch(1, 5, 6));
        // Version 1 of this generation is not behind version 6 of the other.
        assert!(state.lock().current(at(1)).is_none());
        let refresh = Refresh::of(&state, at(1));
        assert!(refresh.is_long(usize::MAX));
        state.lock().remove([5].into_iter(), &batch(0, 1, 2));
        let listed = text(&refresh.run(&state, &store).unwrap());
        assert!(listed.contains(r#"{"id":901,"#) && !listed.contains(r#"{"id":5,"#), "{listed}");
        let state = state.into_inner();
        assert_eq!((state.version, state.removed.len()), (at(1), 0));
    }
}
