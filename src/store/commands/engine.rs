//! What the statements of the commands need of an engine, beside what carries them out.

use crate::store::statements::Statements;
use crate::store::{ChangeScope, StoreError};

/// The rows whose state a change relies on, and which it changes.
#[derive(Clone, Copy)]
pub enum Scope<'a> {
    /// The orders of these ids.
    Orders(&'a [i64]),
    /// Accounts and keys.
    Keys,
}

impl Scope<'_> {
    /// The part of the store that the change belongs to.
    pub fn scope(self) -> ChangeScope {
        match self {
            Scope::Orders(_) => ChangeScope::Orders,
            Scope::Keys => ChangeScope::Keys,
        }
    }
}

/// An engine, as a command uses it.
pub trait Engine {
    /// The column of the row of an order, account or key with the number of the change that last
    /// changed it.
    const CHANGE_NUMBER: &'static str;

    /// The number of the change under way, if it is one of orders: an expression.
    const ORDERS_CHANGE: &'static str;

    /// The number of the change under way, if it is one of keys: an expression.
    const KEYS_CHANGE: &'static str;

    /// A query of the numbers in `$1`, a JSON array.
    const NUMBERS: &'static str;

    /// A query of the columns `id`, `ship_date` and `complete` of the objects in `$1`, a JSON
    /// array.
    const UPDATES: &'static str;

    /// Does `work`, which only reads.
    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;

    /// Does `work`, a change, in one transaction. It reads before it writes: a query may not show
    /// what the change has written. It is done again if another change of these rows comes in
    /// between. After an error nothing is changed.
    fn change<T>(
        &self,
        scope: Scope<'_>,
        work: impl Fn(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}
