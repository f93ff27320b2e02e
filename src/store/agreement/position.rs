//! Defines the position that a list, a cache or an answer of the store has reached. The transaction
//! of each change writes the change's number to the changed rows.

/// The last change that a list, a cache or an answer includes. Orders have one position. Accounts
/// and keys together have another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// The number of the [history](super::journal). The process numbers its histories from 0. An
    /// engine without failover has only history 0.
    pub history: u64,
    /// The number of the last change, or 0 before the first change.
    pub number: i64,
}

impl Position {
    /// The position before the first change of a history.
    pub fn beginning(history: u64) -> Position {
        Position { history, number: 0 }
    }

    /// True for the state before the first change. To catch up from this state, read every row.
    pub fn is_beginning(self) -> bool {
        self.number == 0
    }

    /// True if data at this position may contain changes that data at the position `other` lacks.
    pub fn has_more_than(self, other: Position) -> bool {
        self.history != other.history || self.number > other.number
    }

    /// Returns the list's position after the orders of a batch are removed from the list. `batch`
    /// has the store's positions before and after the batch, or is `None` if the batch cancelled no
    /// order.
    ///
    /// The list advances only from the position before the batch. At another position, the list may
    /// lack a change that precedes the batch, so the position stays.
    #[must_use]
    pub fn after(self, batch: Option<(Position, Position)>) -> Position {
        match batch {
            Some((before, after)) if before == self => after,
            _ => self,
        }
    }
}

/// The store's last changes of orders, and of accounts and keys. They tell a server what to read
/// again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastChanges {
    /// The position of the last change of orders, such as an import or a batch of cancellations.
    pub orders: Position,
    pub keys: Position,
}

impl LastChanges {
    pub fn new(history: u64, orders: i64, keys: i64) -> LastChanges {
        LastChanges {
            orders: Position { history, number: orders },
            keys: Position { history, number: keys },
        }
    }
}
