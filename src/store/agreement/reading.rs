//! Determines which changes a read of rows includes. Rows can change between the pages of one read.

use super::position::Position;

/// Which rows a list or cache must read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadScope {
    /// All rows except those of cancelled orders. The reader starts from an empty list or cache,
    /// because an old list would keep newly cancelled orders.
    All,
    /// Rows with a change number above this one.
    After(i64),
}

impl ReadScope {
    /// Returns the rows that a list or cache at the position `after` must read. Returns `None` if
    /// `after` does not belong to `history`, the history of the session that reads.
    pub fn rows_after(after: Position, history: u64) -> Option<ReadScope> {
        let rows =
            if after.is_beginning() { ReadScope::All } else { ReadScope::After(after.number) };
        (after.history == history).then_some(rows)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrdersRead {
    /// The read includes every change up to this position. A row that a later change has rewritten
    /// may be missing from the read, or have its later content.
    pub reached: Position,
    /// True if the orders are exactly as they were at the change `reached`. Otherwise, a later
    /// change may have rewritten some orders.
    pub is_all: bool,
}

impl OrdersRead {
    /// Describes a read of all orders, page by page. `before` and `last` are the store's last
    /// changes before and after the read.
    pub fn whole(before: Position, last: Position) -> OrdersRead {
        OrdersRead { reached: before, is_all: before == last }
    }

    /// Describes a read of one page of the rows that changed after the position `after`. `highest`
    /// is the number of the last change on the page, or `None` if the page is empty. The page must
    /// contain all rows of that change. `before` is the store's last change before the read.
    ///
    /// If a later change has rewritten a row, a full page may lack the row. A later page then has
    /// the row.
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
