//! Lets the commands run the same SQL with both engines. [`Engine`] has the parts that differ.

use crate::store::statements::Statements;
use crate::store::{ChangeScope, StoreError};

/// The rows that a change may read and write.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    Orders(&'a [i64]),
    /// All accounts and keys.
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

pub trait Engine {
    /// A SQL expression for the number of the change to orders that the current [`Engine::change`]
    /// makes. Valid only in that call.
    const ORDERS_CHANGE: &'static str;

    /// Like [`Engine::ORDERS_CHANGE`], but for a change of accounts and keys.
    const KEYS_CHANGE: &'static str;

    /// A query that returns the numbers in the JSON array `$1`.
    const NUMBERS: &'static str;

    /// A table for the FROM clause, with a row for each object in the JSON array `$1`. The column
    /// `value` contains the object.
    const OBJECTS: &'static str;

    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;

    /// Runs `work`, and commits its writes in one transaction. Runs `work` again if another
    /// transaction has changed the rows of `scope` in the meantime. `work` must read before it
    /// writes, because PostgreSQL gets the writes only after `work` has returned.
    ///
    /// An error usually means that nothing has changed. After these errors, the change may have
    /// been made:
    ///
    /// - No standby has confirmed the change ([`StoreError::Unconfirmed`]).
    /// - PostgreSQL's answer to the commit was lost.
    /// - Files of the embedded store were removed, replaced or overwritten.
    fn change<T>(
        &self,
        scope: Scope<'_>,
        work: impl Fn(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}
