//! What the operator's commands ask of a store, and the statements that both engines share.

mod accounts;
mod check;
mod engine;
mod keys;
mod orders;
mod steps;

pub use accounts::AccountCommands;
pub use check::{CheckReport, DATES, MAX_PROBLEMS, check_rows};
pub use engine::{Engine, Scope};
pub use keys::KeyCommands;
pub use orders::OrderCommands;
#[cfg(test)]
pub use orders::PAGE_ORDERS;
pub use steps::{
    Ended, STEP_RECORDS, STEP_RECORDS_BESIDE_SERVERS, UnfinishedImport, existing_in_steps,
    import_in_steps, in_steps, statuses_in_steps,
};

use super::error::StoreError;
use super::order_rows::{ImportOutcome, Records};

/// A store, as one command works on it. Every method blocks; each that writes does all that
/// it was asked, or nothing.
pub trait OperatorStore: AccountCommands + KeyCommands + OrderCommands {
    /// The store's id: 128 random bits in hex. A restored store has another one.
    fn id(&self) -> Result<String, StoreError>;

    /// Stores all of these records or none, in one transaction: [`import_in_steps`] is for
    /// more than [`STEP_RECORDS`]. An id that is in the store already is refused, or skipped with
    /// `skip_existing`.
    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError>;

    /// Whether a server uses the store, so that its requests come before a long command.
    fn is_served(&self) -> Result<bool, StoreError>;

    /// What the store holds, and what is wrong with it, as of one moment.
    fn check(&self) -> Result<CheckReport, StoreError>;

    /// Waits until every server answers as of after the last change. On an embedded engine each
    /// does at once.
    fn await_servers(&self) {}
}
