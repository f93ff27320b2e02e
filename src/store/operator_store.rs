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
    /// The store's id: 128 random bits in hex. A restored store gets a new id.
    fn id(&self) -> Result<String, StoreError>;

    /// Stores all of these records in one transaction, or none of them. For more than
    /// [`STEP_RECORDS`], use [`import_in_steps`]. If the store already has the id of a record, the
    /// record is skipped if `skip_existing` is true. If `skip_existing` is false, the import fails.
    fn import(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError>;

    /// Returns true if a server uses the store. Long commands then pause for its requests.
    fn is_served(&self) -> Result<bool, StoreError>;

    /// Counts the store's rows and checks the store for problems. PostgreSQL does all of this in
    /// one snapshot. SQLite reads a snapshot for each check, so counts may include changes that
    /// earlier checks have not seen.
    fn check(&self) -> Result<CheckReport, StoreError>;

    /// Appends a line to the audit log: to a file next to an embedded store, or to PostgreSQL's log.
    fn append_to_audit_log(&self, line: &str) -> Result<(), StoreError>;

    /// Waits until the answers of every server include the last change. The default does not wait,
    /// because the server of an embedded engine sees each change immediately.
    fn await_servers(&self) {}
}
