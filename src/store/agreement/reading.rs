//! Reads of rows in pages, while changes go on.

use super::change_numbers::ChangeNumber;

/// The rows of orders or of keys to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// All that there are: they do not tell what is gone.
    All,
    /// Those that changed after the change of this number.
    After(i64),
}

impl ReadScope {
    /// What follows this change in a session of this generation; none of another one.
    pub fn of(after: ChangeNumber, generation: u64) -> Option<ReadScope> {
        let rows =
            if after.is_beginning() { ReadScope::All } else { ReadScope::After(after.number) };
        (after.generation == generation).then_some(rows)
    }
}

/// How far a visit of changed orders came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersRead {
    /// The last change whose rows were visited, unless a later change has written them again.
    pub reached: ChangeNumber,
    /// No later change had been committed, so the orders reflect all changes up to this one.
    pub is_all: bool,
}

impl OrdersRead {
    /// Every order was read, a page after the other, between these last changes. Pages may have a
    /// part of what changed in between.
    pub fn whole(before: ChangeNumber, last: ChangeNumber) -> OrdersRead {
        OrdersRead { reached: before, is_all: before == last }
    }

    /// A page of whole changes was read, up to this number, after the last change had been
    /// `before`. A full one may have more behind it, which has written rows again that are missing.
    pub fn page(
        after: ChangeNumber,
        before: ChangeNumber,
        highest: Option<i64>,
        is_full: bool,
    ) -> OrdersRead {
        let read = highest.unwrap_or(after.number);
        let number = if is_full { read } else { read.max(before.number) };
        OrdersRead { reached: ChangeNumber { number, ..before }, is_all: !is_full }
    }
}
