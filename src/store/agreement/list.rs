//! What a list lacks, and how it gets it.

use super::change_numbers::ChangeNumber;

/// Which changes a list reflects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ListFreshness {
    /// What the snapshot reflects.
    snapshot: ChangeNumber,
    /// What it reflects once the orders are out of it that this process has cancelled since.
    known: ChangeNumber,
}

/// What brings a snapshot to what the store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lacks {
    /// It reflects it.
    Nothing,
    /// What this process has cancelled is to be taken out, which leads to this change.
    Removals(ChangeNumber),
    /// The rows that came with the answer are to be applied before, which leads to this change.
    Rows(ChangeNumber),
    /// The rows after this change are to be read and applied before.
    ReadingAfter(ChangeNumber),
    /// All is to be read anew after this change. What was cancelled is none of its generation's.
    ReadingAll(ChangeNumber),
}

impl ListFreshness {
    /// A snapshot that reflects this change.
    pub fn at(reflected: ChangeNumber) -> ListFreshness {
        ListFreshness { snapshot: reflected, known: reflected }
    }

    /// What is known of the store: rows after it are needed, and no others.
    pub fn known(self) -> ChangeNumber {
        self.known
    }

    /// This process has cancelled orders, and brought the store from one number to another. If
    /// the list is known up to the former, they are added to the pending removals. Otherwise they
    /// come with the rows of the changes before: a list without them, but not at their change,
    /// would have the tag of another list.
    pub fn cancelled(
        &mut self,
        generation: u64,
        numbers: Option<(i64, i64)>,
        add_removals: impl FnOnce(),
    ) {
        let known = self.known.after(generation, numbers);
        if known != self.known {
            self.known = known;
            add_removals();
        }
    }

    /// What the snapshot lacks of the store at this change. Rows came with the answer that are
    /// all that changed between `rows_after` and it.
    pub fn lacks(self, stored: ChangeNumber, rows_after: Option<ChangeNumber>) -> Lacks {
        if !stored.has_more_than(self.snapshot) {
            return Lacks::Nothing;
        }
        if stored.generation != self.known.generation {
            return Lacks::ReadingAll(ChangeNumber::beginning(stored.generation));
        }
        if !stored.has_more_than(self.known) {
            return Lacks::Removals(self.known);
        }
        match rows_after {
            Some(after) if !after.has_more_than(self.known) => Lacks::Rows(stored),
            _ => Lacks::ReadingAfter(self.known),
        }
    }

    /// The snapshot was replaced by one that reflects this change, without the removals that are
    /// `done`. What was cancelled meanwhile is still to be taken out, unless the generation is
    /// another one: what was removed from its list is none of this one's.
    pub fn replaced<R: Default>(
        &mut self,
        snapshot: ChangeNumber,
        removals: &mut R,
        take_done: impl FnOnce(&mut R),
    ) {
        self.snapshot = snapshot;
        let is_same = self.known.generation == snapshot.generation;
        if is_same {
            take_done(removals);
        } else {
            *removals = R::default();
        }
        if !is_same || snapshot.number > self.known.number {
            self.known = snapshot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64) -> ChangeNumber {
        ChangeNumber { generation: 1, number }
    }

    /// Whether the cancelled orders are to be taken out.
    fn cancelled(list: &mut ListFreshness, generation: u64, numbers: (i64, i64)) -> bool {
        let mut is_added = false;
        list.cancelled(generation, Some(numbers), || is_added = true);
        is_added
    }

    /// The removals that are left, of which the first was done.
    fn replaced(list: &mut ListFreshness, snapshot: ChangeNumber) -> Vec<i64> {
        let mut removals = vec![1, 2];
        list.replaced(snapshot, &mut removals, |removals| {
            removals.remove(0);
        });
        removals
    }

    #[test]
    fn cancellations_move_the_number_only_from_where_it_stands() {
        let mut list = ListFreshness::at(at(5));
        assert!(cancelled(&mut list, 1, (5, 6)));
        assert_eq!(list.known(), at(6));
        // Another process brought the store to 7.
        assert!(!cancelled(&mut list, 1, (7, 8)));
        assert_eq!(list.known(), at(6));
        assert!(!cancelled(&mut list, 2, (6, 7)));
        assert_eq!(list.known(), at(6));
        // An answer told of it before the writer did.
        assert_eq!(replaced(&mut list, at(9)), [2]);
        assert!(!cancelled(&mut list, 1, (8, 9)));
    }

    #[test]
    fn a_list_lacks_what_its_snapshot_does_not_reflect() {
        let mut list = ListFreshness::at(at(5));
        assert!(cancelled(&mut list, 1, (5, 6)));
        let lacks = |number, after: Option<i64>| list.lacks(at(number), after.map(at));
        assert_eq!(lacks(4, None), Lacks::Nothing);
        assert_eq!(lacks(5, None), Lacks::Nothing, "it began before the cancellation was answered");
        assert_eq!(lacks(6, None), Lacks::Removals(at(6)));
        assert_eq!(lacks(7, None), Lacks::ReadingAfter(at(6)));
        assert_eq!([5, 6].map(|after| lacks(7, Some(after))), [Lacks::Rows(at(7)); 2]);
        assert_eq!(lacks(8, Some(7)), Lacks::ReadingAfter(at(6)), "what is at 7 would be missing");
        let other = ChangeNumber { generation: 2, number: 3 };
        let anew = Lacks::ReadingAll(ChangeNumber::beginning(2));
        assert_eq!(list.lacks(other, Some(other)), anew);
    }

    #[test]
    fn a_snapshot_is_replaced_while_orders_are_cancelled() {
        let mut list = ListFreshness::at(at(5));
        cancelled(&mut list, 1, (5, 6));
        assert_eq!(replaced(&mut list, at(6)), [2]);
        cancelled(&mut list, 1, (6, 7));
        assert_eq!(list.lacks(at(6), None), Lacks::Nothing);
        assert_eq!(list.lacks(at(7), None), Lacks::Removals(at(7)));
        assert_eq!(replaced(&mut list, at(6)), [2]);
        assert_eq!(list.known(), at(7));
        assert_eq!(replaced(&mut list, at(9)), [2]);
        assert_eq!((list.known(), list.lacks(at(9), None)), (at(9), Lacks::Nothing));
        let other = ChangeNumber { generation: 2, number: 3 };
        assert!(replaced(&mut list, other).is_empty());
        assert_eq!(list.known(), other);
    }
}
