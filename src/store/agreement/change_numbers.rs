//! Change numbers. Every change has a higher one than those before it, stored with the rows
//! that it changed, in the same transaction.

/// The numbers of the last changes of orders and of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LastChanges {
    /// Numbers the generations that this process has seen. Change numbers of different ones
    /// cannot be compared: after a failover that lost commits, their numbers are used again.
    /// Always 0 on an engine without failover.
    pub generation: u64,
    /// The last change of orders: an import, a shipment or cancellations.
    pub orders: i64,
    /// The last change of accounts or keys.
    pub keys: i64,
}

impl LastChanges {
    /// That of orders.
    pub fn of_orders(self) -> ChangeNumber {
        ChangeNumber { generation: self.generation, number: self.orders }
    }

    /// That of accounts and keys.
    pub fn of_keys(self) -> ChangeNumber {
        ChangeNumber { generation: self.generation, number: self.keys }
    }
}

/// The number of a change of orders, or of a change of accounts and keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeNumber {
    /// The generation that it belongs to.
    pub generation: u64,
    /// The number itself; 0 before the first change.
    pub number: i64,
}

impl ChangeNumber {
    /// Before the first change of a generation.
    pub fn beginning(generation: u64) -> ChangeNumber {
        ChangeNumber { generation, number: 0 }
    }

    /// Whether what is read after it is all that there is.
    pub fn is_beginning(self) -> bool {
        self.number == 0
    }

    /// Whether what reflects the other change lacks something that this one has.
    pub fn has_more_than(self, other: ChangeNumber) -> bool {
        self.generation != other.generation || self.number > other.number
    }

    /// The last change of a list that now also lacks what a batch cancelled, which brought the
    /// store from one number to another. It stays if the batch began elsewhere: changes of another
    /// process are missing then.
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
