//! Plans how the list of orders in memory catches up with the store.

use super::position::Position;

/// A list in memory: a snapshot without the pending removals. Only cancellations by this process
/// become pending removals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListState<S, R> {
    pub snapshot: S,
    snapshot_position: Position,
    pub pending_removals: R,
    /// The position that the snapshot has after the pending removals are applied.
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CatchUp {
    Nothing,
    /// Apply the pending removals; the snapshot is then at this position.
    Removals(Position),
    /// Apply the pending removals, and the rows in the store's answer. The snapshot is then at this
    /// position.
    Rows(Position),
    /// Read the rows that changed after this position, and apply them and the pending removals.
    ReadingAfter(Position),
    /// Discard the pending removals and read every row, because a new history has begun. The
    /// position is the beginning of the new history.
    ReadingAll(Position),
}

impl<S, R: Default> ListState<S, R> {
    pub fn new(snapshot: S, position: Position) -> ListState<S, R> {
        let pending_removals = R::default();
        ListState { snapshot, snapshot_position: position, pending_removals, position }
    }

    /// Returns the position of the list with its pending removals applied. The list has all changes
    /// up to this position.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Calls `add` to add a batch of this process's cancellations to the pending removals, and
    /// advances the list's position. `batch` has the store's positions before and after the batch,
    /// or is `None` if no order was cancelled.
    ///
    /// Does nothing if the list is not at the position before the batch. A later refresh then
    /// removes the orders.
    pub fn add_removals(&mut self, batch: Option<(Position, Position)>, add: impl FnOnce(&mut R)) {
        let position = self.position.after(batch);
        if position != self.position {
            self.position = position;
            add(&mut self.pending_removals);
        }
    }

    /// Plans how the snapshot catches up with the store. `stored` is the store's position, as
    /// reported by an answer. If `rows_after` is set, the answer also contains all rows that
    /// changed after `rows_after`.
    pub fn plan(&self, stored: Position, rows_after: Option<Position>) -> CatchUp {
        if !stored.has_more_than(self.snapshot_position) {
            return CatchUp::Nothing;
        }
        if stored.history != self.position.history {
            return CatchUp::ReadingAll(Position::beginning(stored.history));
        }
        if !stored.has_more_than(self.position) {
            return CatchUp::Removals(self.position);
        }
        match rows_after {
            Some(after) if !after.has_more_than(self.position) => CatchUp::Rows(stored),
            _ => CatchUp::ReadingAfter(self.position),
        }
    }

    /// Replaces the snapshot with `snapshot`, which is at the position `new`, and returns the old
    /// one.
    ///
    /// This process may have cancelled orders while the new snapshot was made. The new snapshot
    /// still has these orders, so their removals stay pending. `remove_done` must delete only the
    /// removals that the new snapshot no longer needs.
    pub fn publish(&mut self, snapshot: S, new: Position, remove_done: impl FnOnce(&mut R)) -> S {
        self.snapshot_position = new;
        if new.history == self.position.history && new.number < self.position.number {
            remove_done(&mut self.pending_removals);
        } else {
            self.pending_removals = R::default();
            self.position = new;
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

    /// Adds a batch that raised the change number from `numbers.0` to `numbers.1`. The id of the
    /// cancelled order is also `numbers.1`. Returns true if the batch becomes a pending removal.
    fn cancel(list: &mut List, history: u64, numbers: (i64, i64)) -> bool {
        let before = list.pending_removals.len();
        let position = |number| Position { history, number };
        let batch = Some((position(numbers.0), position(numbers.1)));
        list.add_removals(batch, |removals| removals.push(numbers.1));
        list.pending_removals.len() > before
    }

    /// Publishes a snapshot at the position `applied`, and returns the removals that stay pending.
    /// If the list is at a later position, assumes that the snapshot reflects only the first
    /// pending removal.
    fn publish(list: &mut List, applied: Position) -> &[i64] {
        list.publish((), applied, |removals| drop(removals.drain(..1)));
        &list.pending_removals
    }

    #[test]
    fn cancellations_are_pending_only_if_the_list_reflects_the_change_before_them() {
        let mut list = List::new((), change(5));
        assert!(cancel(&mut list, 1, (5, 6)));
        assert_eq!(list.position(), change(6));
        // The list accepts neither of the next two batches. The first follows change 7, which
        // another process made and the list lacks. The second belongs to another history.
        assert!(!cancel(&mut list, 1, (7, 8)));
        assert!(!cancel(&mut list, 2, (6, 7)));
        assert_eq!(list.position(), change(6));
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
        assert_eq!(list.position(), change(7));
        cancel(&mut list, 1, (7, 8));
        // This snapshot was read from the store at change 9, so it includes change 8, too.
        assert!(publish(&mut list, change(9)).is_empty());
        let reflected = list.position();
        assert_eq!((reflected, list.plan(change(9), None)), (change(9), CatchUp::Nothing));
        let other = Position { history: 2, number: 3 };
        assert!(publish(&mut list, other).is_empty());
        assert_eq!(list.position(), other);
    }
}
