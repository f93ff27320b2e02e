//! The differences between engines that the commands' shared SQL depends on.

use crate::store::statements::Statements;
use crate::store::{ChangeScope, StoreError};

/// The rows that a change reads and writes.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    Orders(&'a [i64]),
    /// Accounts and keys.
    Keys,
}

impl Scope<'_> {
    pub fn scope(self) -> ChangeScope {
        match self {
            Scope::Orders(_) => ChangeScope::Orders,
            Scope::Keys => ChangeScope::Keys,
        }
    }
}

/// An engine, as the commands' shared SQL uses it.
pub trait Engine {
    /// A SQL expression for the number of the current change of orders.
    const ORDERS_CHANGE: &'static str;

    /// A SQL expression for the number of the current change of accounts and keys.
    const KEYS_CHANGE: &'static str;

    /// A query that returns the numbers in `$1`, a JSON array.
    const NUMBERS: &'static str;

    /// A SQL table whose column `value` contains the objects in `$1`, a JSON array.
    const OBJECTS: &'static str;

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;

    /// Runs `work` in one transaction, and again if a concurrent transaction changes the rows of
    /// `scope`. `work` must read before it writes, because on some engines its queries do not see
    /// its own writes. After an error, nothing has changed.
    fn change<T>(
        &self,
        scope: Scope<'_>,
        work: impl Fn(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}
