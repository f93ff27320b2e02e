//! Numbers of changes. Every change has a higher one than those before it, stored with the rows
//! that it changed, in the same transaction.

/// How far each half of the store is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Versions {
    /// Numbers the generations that this process has seen. Versions of different ones cannot
    /// be compared: after a failover that lost commits, their numbers are used again.
    /// Always 0 on an engine without failover.
    pub generation: u64,
    /// The last change of orders: an import, a shipment or cancellations.
    pub orders: i64,
    /// The last change of accounts or keys.
    pub keys: i64,
}

impl Versions {
    /// The half of the orders.
    pub fn of_orders(self) -> HalfVersion {
        HalfVersion { generation: self.generation, number: self.orders }
    }

    /// The half of accounts and keys.
    pub fn of_keys(self) -> HalfVersion {
        HalfVersion { generation: self.generation, number: self.keys }
    }
}

/// A version of the orders alone, or of accounts and keys alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HalfVersion {
    /// The generation that it belongs to.
    pub generation: u64,
    /// The number of the half's last change in it; 0 before the first.
    pub number: i64,
}

impl HalfVersion {
    /// Before the first change of a generation.
    pub fn beginning(generation: u64) -> HalfVersion {
        HalfVersion { generation, number: 0 }
    }

    /// Whether what reflects the other version lacks something that this one has.
    pub fn has_more_than(self, other: HalfVersion) -> bool {
        self.generation != other.generation || self.number > other.number
    }

    /// The version of a list that now also lacks what a batch cancelled, which brought the store
    /// from one number to another. It stays if the batch began elsewhere: changes of another
    /// process are missing then.
    #[must_use]
    pub fn after(self, generation: u64, numbers: Option<(i64, i64)>) -> HalfVersion {
        match numbers {
            Some((before, number)) if generation == self.generation && before == self.number => {
                HalfVersion { number, ..self }
            }
            _ => self,
        }
    }
}
