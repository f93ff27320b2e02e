//! What the statements of the commands need of an engine, beside what carries them out.

use crate::store::statements::Statements;
use crate::store::{Half, StoreError};

/// An engine, as a command uses it.
pub trait Engine {
    /// The column of the row of an order, account or key with the number of the change that last
    /// changed it.
    const CHANGE_NUMBER: &'static str;

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

    /// Does `work`, a change of this half, in one transaction. It is given the change number for
    /// the rows that it changes. After an error nothing is changed.
    fn change<T>(
        &self,
        half: Half,
        work: impl FnOnce(&dyn Statements, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}
