//! How a list in memory catches up with the store.

use super::change_numbers::ChangeNumber;

/// A list in memory: a snapshot of the orders, and those of them that this process has cancelled
/// since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListState<S, R> {
    /// The orders.
    pub snapshot: S,
    /// The last change that the snapshot reflects.
    applied: ChangeNumber,
    /// The cancelled orders that the snapshot still has.
    pub pending_removals: R,
    /// The last change that the snapshot reflects without them.
    reflected_after_removals: ChangeNumber,
}

/// What brings a snapshot to what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CatchUp {
    /// The snapshot reflects it.
    Nothing,
    /// Take the pending removals out, which leads to this change.
    Removals(ChangeNumber),
    /// Apply the rows that came with the answer, and take the pending removals out, which leads to
    /// this change.
    Rows(ChangeNumber),
    /// Read and apply the rows after this change, and take the pending removals out.
    ReadingAfter(ChangeNumber),
    /// Read everything after this change, the beginning of another generation, and discard the
    /// pending removals.
    ReadingAll(ChangeNumber),
}

impl<S, R: Default> ListState<S, R> {
    /// A snapshot that reflects this change.
    pub fn new(snapshot: S, applied: ChangeNumber) -> ListState<S, R> {
        let pending_removals = R::default();
        ListState { snapshot, applied, pending_removals, reflected_after_removals: applied }
    }

    /// The last change that the list reflects without the pending removals: it needs the rows after
    /// this change, and no others.
    pub fn reflected_after_removals(&self) -> ChangeNumber {
        self.reflected_after_removals
    }

    /// Adds the cancellations of a batch of this process, which brought the store from one number
    /// to the other, to the pending removals, if the list reflects the former. Otherwise they come
    /// with the rows of the changes before: a list without them, but not at their change, would
    /// have the tag of another list.
    pub fn cancelled(
        &mut self,
        generation: u64,
        numbers: Option<(i64, i64)>,
        add: impl FnOnce(&mut R),
    ) {
        let reflected = self.reflected_after_removals.after(generation, numbers);
        if reflected != self.reflected_after_removals {
            self.reflected_after_removals = reflected;
            add(&mut self.pending_removals);
        }
    }

    /// Plans how the snapshot catches up with the store at this change. Rows came with the answer
    /// that are all that changed between `rows_after` and it.
    pub fn plan(&self, stored: ChangeNumber, rows_after: Option<ChangeNumber>) -> CatchUp {
        if !stored.has_more_than(self.applied) {
            return CatchUp::Nothing;
        }
        let reflected = self.reflected_after_removals;
        if stored.generation != reflected.generation {
            return CatchUp::ReadingAll(ChangeNumber::beginning(stored.generation));
        }
        if !stored.has_more_than(reflected) {
            return CatchUp::Removals(reflected);
        }
        match rows_after {
            Some(after) if !after.has_more_than(reflected) => CatchUp::Rows(stored),
            _ => CatchUp::ReadingAfter(reflected),
        }
    }

    /// Replaces the snapshot by one that reflects this change. `remove_done` takes the removals away
    /// that it has not. Orders that were cancelled meanwhile stay pending, unless the generation is
    /// another one: its list never had them.
    pub fn publish(
        &mut self,
        snapshot: S,
        applied: ChangeNumber,
        remove_done: impl FnOnce(&mut R),
    ) -> S {
        self.applied = applied;
        let is_same = self.reflected_after_removals.generation == applied.generation;
        if is_same {
            remove_done(&mut self.pending_removals);
        } else {
            self.pending_removals = R::default();
        }
        if !is_same || applied.number > self.reflected_after_removals.number {
            self.reflected_after_removals = applied;
        }
        std::mem::replace(&mut self.snapshot, snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type List = ListState<(), Vec<i64>>;

    fn at(number: i64) -> ChangeNumber {
        ChangeNumber { generation: 1, number }
    }

    /// Cancels an order. True if it is a pending removal then.
    fn cancel(list: &mut List, generation: u64, numbers: (i64, i64)) -> bool {
        let before = list.pending_removals.len();
        list.cancelled(generation, Some(numbers), |removals| removals.push(numbers.1));
        list.pending_removals.len() > before
    }

    /// Publishes a snapshot without the first pending removal. Returns those that are left.
    fn publish(list: &mut List, applied: ChangeNumber) -> &[i64] {
        list.publish((), applied, |removals| drop(removals.drain(..1)));
        &list.pending_removals
    }

    #[test]
    fn cancellations_are_pending_only_if_the_list_reflects_what_was_before() {
        let mut list = List::new((), at(5));
        assert!(cancel(&mut list, 1, (5, 6)));
        assert_eq!(list.reflected_after_removals(), at(6));
        // Another process brought the store to 7.
        assert!(!cancel(&mut list, 1, (7, 8)));
        assert!(!cancel(&mut list, 2, (6, 7)));
        assert_eq!(list.reflected_after_removals(), at(6));
        // A refresh reached 9 before the writer did.
        assert!(publish(&mut list, at(9)).is_empty());
        assert!(!cancel(&mut list, 1, (8, 9)));
    }

    #[test]
    fn a_plan_has_what_the_snapshot_does_not_reflect() {
        let mut list = List::new((), at(5));
        assert!(cancel(&mut list, 1, (5, 6)));
        let plan = |number, after: Option<i64>| list.plan(at(number), after.map(at));
        assert_eq!(plan(4, None), CatchUp::Nothing);
        assert_eq!(
            plan(5, None),
            CatchUp::Nothing,
            "it began before the cancellation was answered"
        );
        assert_eq!(plan(6, None), CatchUp::Removals(at(6)));
        assert_eq!(plan(7, None), CatchUp::ReadingAfter(at(6)));
        assert_eq!([5, 6].map(|after| plan(7, Some(after))), [CatchUp::Rows(at(7)); 2]);
        assert_eq!(plan(8, Some(7)), CatchUp::ReadingAfter(at(6)), "what is at 7 would be missing");
        let other = ChangeNumber { generation: 2, number: 3 };
        let anew = CatchUp::ReadingAll(ChangeNumber::beginning(2));
        assert_eq!(list.plan(other, Some(other)), anew);
    }

    #[test]
    fn a_snapshot_is_published_while_orders_are_cancelled() {
        let mut list = List::new((), at(5));
        cancel(&mut list, 1, (5, 6));
        cancel(&mut list, 1, (6, 7));
        assert_eq!(publish(&mut list, at(6)), [7]);
        assert_eq!(list.plan(at(6), None), CatchUp::Nothing);
        assert_eq!(list.plan(at(7), None), CatchUp::Removals(at(7)));
        assert_eq!(list.reflected_after_removals(), at(7));
        cancel(&mut list, 1, (7, 8));
        assert_eq!(publish(&mut list, at(9)), [8]);
        let reflected = list.reflected_after_removals();
        assert_eq!((reflected, list.plan(at(9), None)), (at(9), CatchUp::Nothing));
        let other = ChangeNumber { generation: 2, number: 3 };
        assert!(publish(&mut list, other).is_empty());
        assert_eq!(list.reflected_after_removals(), other);
    }
}
