//! Compares change numbers, which rise with each change. A change stores its number in the rows
//! that it changes, in the same transaction.

/// The numbers of the last changes of orders and of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastChanges {
    /// Counts the histories that this process has seen. Change numbers of different generations
    /// cannot be compared, because after a failover the numbers of lost commits are used again.
    /// Always 0 on an engine without failover.
    pub generation: u64,
    /// The last change of orders: an import, a shipment or cancellations.
    pub orders: i64,
    /// The last change of accounts or keys.
    pub keys: i64,
}

impl LastChanges {
    /// The last change of orders, with its generation.
    pub fn orders_change(self) -> ChangeNumber {
        ChangeNumber { generation: self.generation, number: self.orders }
    }

    /// The last change of accounts or keys, with its generation.
    pub fn keys_change(self) -> ChangeNumber {
        ChangeNumber { generation: self.generation, number: self.keys }
    }
}

/// The number of a change of orders, or of a change of accounts and keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeNumber {
    /// The generation of the change.
    pub generation: u64,
    /// 0 stands for the state before the first change.
    pub number: i64,
}

impl ChangeNumber {
    /// The state before the first change of a generation.
    pub fn beginning(generation: u64) -> ChangeNumber {
        ChangeNumber { generation, number: 0 }
    }

    /// True for the state before the first change. To catch up from this state, read every row.
    pub fn is_beginning(self) -> bool {
        self.number == 0
    }

    /// True if data that reflects the change `self` may contain changes that are missing in data
    /// that reflects the change `other`.
    pub fn has_more_than(self, other: ChangeNumber) -> bool {
        self.generation != other.generation || self.number > other.number
    }

    /// Returns the change that a list reflects after the orders that a batch cancelled are removed
    /// from the list. `self` is the change that the list reflects now; `numbers` are the store's
    /// change numbers before and after the batch. If `self` does not have the number before the
    /// batch, the list lacks a change of another process, and the result is `self`.
    #[must_use]
    pub fn after(self, generation: u64, numbers: Option<(i64, i64)>) -> ChangeNumber {
        match numbers {
            Some((before, number)) if generation == self.generation && before == self.number => {
                ChangeNumber { number, ..self }
            }
            _ => self,
        }
    }
}
