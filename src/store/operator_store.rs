//! The store's interface for the operator's commands, and the SQL that both engines share.

mod accounts;
mod check;
mod engine;
mod keys;
mod orders;
mod steps;

pub use accounts::AccountCommands;
pub use check::{CheckReport, MAX_PROBLEMS, check_rows};
pub use engine::{Engine, Scope};
pub use keys::KeyCommands;
pub use orders::OrderCommands;
#[cfg(test)]
pub use orders::PAGE_ORDERS;
pub use steps::{
    STEP_RECORDS, STEP_RECORDS_BESIDE_SERVERS, UnfinishedImport, UnfinishedSteps,
    existing_in_steps, import_in_steps, in_steps, statuses_in_steps,
};

use super::error::StoreError;
use super::order_rows::{ImportOutcome, Records};

/// A store, as the operator's commands use it. Every method blocks. A method that writes makes all
/// of its changes or none.
pub trait OperatorStore: AccountCommands + KeyCommands + OrderCommands {
    /// Returns the store's id, which is 128 random bits in hex. A restored store gets a new id.
    fn id(&self) -> Result<String, StoreError>;

    /// Stores all of these records in one transaction, or none. If `skip_existing` is true, skips
    /// each record whose id is already in the store. Otherwise, such a record makes the import
    /// fail.
    ///
    /// For more than [`STEP_RECORDS`] records, use [`import_in_steps`].
    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError>;

    /// True if a server uses the store. Long commands then pause between their steps, so that the
    /// server's requests seldom wait.
    fn is_served(&self) -> Result<bool, StoreError>;

    /// Counts the store's rows and checks the store for problems. With SQLite, each query reads its
    /// own snapshot, so counts may include changes that earlier queries have not seen.
    fn check(&self) -> Result<CheckReport, StoreError>;

    /// Appends a line to the audit log. For an embedded store, the log is a file in the store's
    /// directory. For a store in PostgreSQL, it is PostgreSQL's own log.
    fn append_to_audit_log(&self, line: &str) -> Result<(), StoreError>;

    /// Waits until the lists and key lookups of every server include the last change. The default
    /// does not wait, because the server of an embedded engine sees each change immediately.
    fn await_servers(&self) {}
}
