//! Determines which changes a read of rows includes. A read may take several pages, and rows can
//! change between two pages.

use super::position::Position;

/// The rows to read, of orders or of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// All rows that exist now. They do not show which rows were removed, so the reader starts from
    /// an empty list or cache.
    All,
    /// Rows with a change number above this one.
    After(i64),
}

impl ReadScope {
    /// Returns the rows that a list or cache at the position `after` must read. `history` is the
    /// history of the session that reads. Returns `None` if `after` belongs to another history.
    pub fn rows_after(after: Position, history: u64) -> Option<ReadScope> {
        let rows =
            if after.is_beginning() { ReadScope::All } else { ReadScope::After(after.number) };
        (after.history == history).then_some(rows)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersRead {
    /// The read includes every change up to this one. But if a later change has rewritten a row,
    /// the row may be missing or be in its later state.
    pub reached: Position,
    /// True if the orders are exactly as they were at the change `reached`. False if a later change
    /// may already have rewritten some of them.
    pub is_all: bool,
}

impl OrdersRead {
    /// Describes a read of all orders, page by page. `before` and `last` are the store's last
    /// changes before and after the read. The pages may include some of the changes in between.
    pub fn whole(before: Position, last: Position) -> OrdersRead {
        OrdersRead { reached: before, is_all: before == last }
    }

    /// Describes a read of one page of the rows that changed after the position `after`. If the
    /// page contains a row of a change, it contains all rows of this change.
    ///
    /// `highest` is the number of the last change on the page, or `None` if the page is empty.
    /// `before` is the store's last change before the read.
    ///
    /// If `is_full` is true, the page may stop before later changes. A row that a later change has
    /// rewritten is then missing from the page.
    pub fn page(
        after: Position,
        before: Position,
        highest: Option<i64>,
        is_full: bool,
    ) -> OrdersRead {
        let read = highest.unwrap_or(after.number);
        let number = if is_full { read } else { read.max(before.number) };
        OrdersRead { reached: Position { number, ..before }, is_all: !is_full }
    }
}
