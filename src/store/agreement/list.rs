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
    /// What this process has cancelled is to be taken out.
    Removals,
    /// The rows that came with the answer are to be applied, too.
    Rows,
    /// The rows after this change are to be read; after the beginning, all anew.
    ReadingAfter(ChangeNumber),
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

    /// This process has cancelled orders, and brought the store from one number to another.
    /// Whether they are to be taken out of the snapshot: it may reflect that number already, and if
    /// the list is of another generation, it is read again, without them.
    pub fn cancelled(&mut self, generation: u64, numbers: Option<(i64, i64)>) -> bool {
        self.known = self.known.after(generation, numbers);
        let is_lacking = numbers.is_none_or(|(_, number)| number > self.snapshot.number);
        self.known.generation == generation && is_lacking
    }

    /// What the snapshot lacks of the store at this change. Rows came with the answer that are
    /// all that changed between `rows_after` and it.
    pub fn lacks(self, stored: ChangeNumber, rows_after: Option<ChangeNumber>) -> Lacks {
        if !stored.has_more_than(self.snapshot) {
            return Lacks::Nothing;
        }
        // At number 0 the store tells of no order that is gone, and a snapshot may hold one that
        // came while it was read.
        if stored.generation != self.known.generation || self.known.number == 0 {
            return Lacks::ReadingAfter(ChangeNumber::beginning(stored.generation));
        }
        if !stored.has_more_than(self.known) {
            return Lacks::Removals;
        }
        match rows_after {
            Some(after) if !after.has_more_than(self.known) => Lacks::Rows,
            _ => Lacks::ReadingAfter(self.known),
        }
    }

    /// The snapshot was replaced by one that reflects this change. What was cancelled meanwhile is
    /// still to be taken out, unless the generation is another one: then false.
    pub fn replaced(&mut self, snapshot: ChangeNumber) -> bool {
        self.snapshot = snapshot;
        let is_same = self.known.generation == snapshot.generation;
        if !is_same || snapshot.number > self.known.number {
            self.known = snapshot;
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: i64) -> ChangeNumber {
        ChangeNumber { generation: 1, number }
    }

    #[test]
    fn cancellations_move_the_number_only_from_where_it_stands() {
        let mut list = ListFreshness::at(at(5));
        assert!(list.cancelled(1, Some((5, 6))));
        assert_eq!(list.known(), at(6));
        // Another process brought the store to 7.
        assert!(list.cancelled(1, Some((7, 8))));
        assert_eq!(list.known(), at(6));
        assert!(!list.cancelled(2, Some((6, 7))));
        assert_eq!(list.known(), at(6));
        // An answer told of it before the writer did.
        assert!(list.replaced(at(9)));
        assert!(!list.cancelled(1, Some((8, 9))));
    }

    #[test]
    fn a_list_lacks_what_its_snapshot_does_not_reflect() {
        let mut list = ListFreshness::at(at(5));
        assert!(list.cancelled(1, Some((5, 6))));
        let lacks = |number, after: Option<i64>| list.lacks(at(number), after.map(at));
        assert_eq!(lacks(4, None), Lacks::Nothing);
        assert_eq!(lacks(5, None), Lacks::Nothing, "it began before the cancellation was answered");
        assert_eq!(lacks(6, None), Lacks::Removals);
        assert_eq!(lacks(7, None), Lacks::ReadingAfter(at(6)));
        assert_eq!([5, 6].map(|after| lacks(7, Some(after))), [Lacks::Rows; 2]);
        assert_eq!(lacks(8, Some(7)), Lacks::ReadingAfter(at(6)), "what is at 7 would be missing");
        let other = ChangeNumber { generation: 2, number: 3 };
        let anew = Lacks::ReadingAfter(ChangeNumber::beginning(2));
        assert_eq!(list.lacks(other, Some(other)), anew);
        let first = ListFreshness::at(at(0));
        let anew = Lacks::ReadingAfter(at(0));
        assert_eq!(first.lacks(at(1), Some(at(0))), anew);
    }

    #[test]
    fn a_snapshot_is_replaced_while_orders_are_cancelled() {
        let mut list = ListFreshness::at(at(5));
        list.cancelled(1, Some((5, 6)));
        assert!(list.replaced(at(6)));
        list.cancelled(1, Some((6, 7)));
        assert_eq!(list.lacks(at(6), None), Lacks::Nothing);
        assert_eq!(list.lacks(at(7), None), Lacks::Removals);
        assert!(list.replaced(at(9)));
        assert_eq!((list.known(), list.lacks(at(9), None)), (at(9), Lacks::Nothing));
        let other = ChangeNumber { generation: 2, number: 3 };
        assert!(!list.replaced(other));
        assert_eq!(list.known(), other);
    }
}
