//! Plans how the list of orders in memory catches up with the store.

use super::position::Position;

/// A list in memory: a snapshot of the orders, and the orders of this snapshot that this process
/// has cancelled since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListState<S, R> {
    /// The orders as of the change `applied`.
    pub snapshot: S,
    /// The last change that the snapshot reflects.
    applied: Position,
    /// Cancelled orders that are still in the snapshot.
    pub pending_removals: R,
    /// The last change that the snapshot will reflect once the pending removals are applied.
    reflected_after_removals: Position,
}

/// The way in which a snapshot catches up with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CatchUp {
    /// The snapshot is up to date.
    Nothing,
    /// Apply the pending removals; the snapshot then reflects this change.
    Removals(Position),
    /// Apply the rows of the answer and the pending removals; the snapshot then reflects this
    /// change.
    Rows(Position),
    /// Read the rows that changed after this change, and apply them and the pending removals.
    ReadingAfter(Position),
    /// Another history has begun: discard the pending removals and read every row. The change is
    /// the beginning of that history.
    ReadingAll(Position),
}

impl<S, R: Default> ListState<S, R> {
    /// Creates a list from a snapshot that reflects the change `applied`.
    pub fn new(snapshot: S, applied: Position) -> ListState<S, R> {
        let pending_removals = R::default();
        ListState { snapshot, applied, pending_removals, reflected_after_removals: applied }
    }

    /// The last change that the list reflects once the pending removals are applied. To catch up,
    /// the list needs only the rows that changed after this change.
    pub fn reflected_after_removals(&self) -> Position {
        self.reflected_after_removals
    }

    /// Adds a batch of cancellations of this process to the pending removals. `batch` has the
    /// store's positions before and after the batch. If the list is not at the position before the
    /// batch, the orders are removed later, with the rows of the missing changes.
    pub fn cancelled(&mut self, batch: Option<(Position, Position)>, add: impl FnOnce(&mut R)) {
        let reflected = self.reflected_after_removals.after(batch);
        if reflected != self.reflected_after_removals {
            self.reflected_after_removals = reflected;
            add(&mut self.pending_removals);
        }
    }

    /// Plans how the snapshot catches up with the change `stored`. If `rows_after` is set, the
    /// answer has all rows that changed after the change `rows_after`.
    pub fn plan(&self, stored: Position, rows_after: Option<Position>) -> CatchUp {
        if !stored.has_more_than(self.applied) {
            return CatchUp::Nothing;
        }
        let reflected = self.reflected_after_removals;
        if stored.history != reflected.history {
            return CatchUp::ReadingAll(Position::beginning(stored.history));
        }
        if !stored.has_more_than(reflected) {
            return CatchUp::Removals(reflected);
        }
        match rows_after {
            Some(after) if !after.has_more_than(reflected) => CatchUp::Rows(stored),
            _ => CatchUp::ReadingAfter(reflected),
        }
    }

    /// Replaces the snapshot by one that reflects the change `applied`. Orders that were cancelled
    /// while the new snapshot was made stay pending if the new snapshot has them: `remove_done`
    /// deletes the other pending removals. If the new snapshot reflects every cancellation, or
    /// belongs to a new history, none stays pending: its rows were read from the store, and lack
    /// every order whose cancellation was not lost.
    pub fn publish(
        &mut self,
        snapshot: S,
        applied: Position,
        remove_done: impl FnOnce(&mut R),
    ) -> S {
        self.applied = applied;
        let reflected = self.reflected_after_removals;
        if applied.history == reflected.history && applied.number < reflected.number {
            remove_done(&mut self.pending_removals);
        } else {
            self.pending_removals = R::default();
            self.reflected_after_removals = applied;
        }
        std::mem::replace(&mut self.snapshot, snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type List = ListState<(), Vec<i64>>;

    fn change(number: i64) -> Position {
        Position { history: 1, number }
    }

    /// Cancels an order. Returns true if this adds a pending removal.
    fn cancel(list: &mut List, history: u64, numbers: (i64, i64)) -> bool {
        let before = list.pending_removals.len();
        let position = |number| Position { history, number };
        let batch = Some((position(numbers.0), position(numbers.1)));
        list.cancelled(batch, |removals| removals.push(numbers.1));
        list.pending_removals.len() > before
    }

    /// Publishes a snapshot and deletes the first pending removal. Returns the remaining removals.
    fn publish(list: &mut List, applied: Position) -> &[i64] {
        list.publish((), applied, |removals| drop(removals.drain(..1)));
        &list.pending_removals
    }

    #[test]
    fn cancellations_are_pending_only_if_the_list_reflects_the_change_before_them() {
        let mut list = List::new((), change(5));
        assert!(cancel(&mut list, 1, (5, 6)));
        assert_eq!(list.reflected_after_removals(), change(6));
        // The first batch follows change 7 of another process, which the list does not reflect. The
        // second batch belongs to another history.
        assert!(!cancel(&mut list, 1, (7, 8)));
        assert!(!cancel(&mut list, 2, (6, 7)));
        assert_eq!(list.reflected_after_removals(), change(6));
        // A refresh publishes change 9 before the list receives the batch that made change 9.
        assert!(publish(&mut list, change(9)).is_empty());
        assert!(!cancel(&mut list, 1, (8, 9)));
    }

    #[test]
    fn a_plan_has_what_the_snapshot_does_not_reflect() {
        let mut list = List::new((), change(5));
        assert!(cancel(&mut list, 1, (5, 6)));
        let plan = |number, after: Option<i64>| list.plan(change(number), after.map(change));
        assert_eq!(plan(4, None), CatchUp::Nothing);
        assert_eq!(
            plan(5, None),
            CatchUp::Nothing,
            "the query began before the cancellation was answered"
        );
        assert_eq!(plan(6, None), CatchUp::Removals(change(6)));
        assert_eq!(plan(7, None), CatchUp::ReadingAfter(change(6)));
        assert_eq!([5, 6].map(|after| plan(7, Some(after))), [CatchUp::Rows(change(7)); 2]);
        assert_eq!(plan(8, Some(7)), CatchUp::ReadingAfter(change(6)), "change 7 would be missing");
        let other = Position { history: 2, number: 3 };
        let reread = CatchUp::ReadingAll(Position::beginning(2));
        assert_eq!(list.plan(other, Some(other)), reread);
    }

    #[test]
    fn a_snapshot_is_published_while_orders_are_cancelled() {
        let mut list = List::new((), change(5));
        cancel(&mut list, 1, (5, 6));
        cancel(&mut list, 1, (6, 7));
        assert_eq!(publish(&mut list, change(6)), [7]);
        assert_eq!(list.plan(change(6), None), CatchUp::Nothing);
        assert_eq!(list.plan(change(7), None), CatchUp::Removals(change(7)));
        assert_eq!(list.reflected_after_removals(), change(7));
        cancel(&mut list, 1, (7, 8));
        // The snapshot was read from the store, so it reflects change 8 too.
        assert!(publish(&mut list, change(9)).is_empty());
        let reflected = list.reflected_after_removals();
        assert_eq!((reflected, list.plan(change(9), None)), (change(9), CatchUp::Nothing));
        let other = Position { history: 2, number: 3 };
        assert!(publish(&mut list, other).is_empty());
        assert_eq!(list.reflected_after_removals(), other);
    }
}
