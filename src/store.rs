//! What the server asks of a store, and nothing of how an engine keeps it. The
//! embedded default is [`sqlite`].
//!
//! | File | Its job |
//! |---|---|
//! | `rows` | the rows, plain values on every engine |
//! | `rules` | what a change may do and what it answers, on every engine |
//! | `report` | what `check` reports, and the checks that every engine shares |
//! | `sqlite` | the SQL and the files of the embedded engine |

mod report;
mod rows;
mod rules;
pub mod sqlite;

pub use report::CheckReport;
pub use rows::{
    Account, CancelOutcome, Cancellation, CancelledBatch, ImportOutcome, IssuedKey, KeyRecord,
    KeyRow, ListedOrder, NewKey, NewOrder, OrderChange, OrderCounts, Rotation, Status, StoredOrder,
    UnknownStatus, Versions,
};
pub use rules::{MAX_OVERLAP, MIN_USE_INTERVAL_MS, is_expired};

use crate::keys::Digest;
use std::error::Error;
use std::path::PathBuf;
use store_orders_api::types::Pet;

/// Where orders, pets, accounts and keys are kept.
///
/// Every method blocks. All but [`Store::versions`] belong on a blocking thread.
pub trait Store: Send + Sync {
    /// The versions, including every change committed before the call by any
    /// process. Cheap enough for every request.
    fn versions(&self) -> Result<Versions, StoreError>;

    /// Visits, in ascending order of id, every order whose row changed after this
    /// version, and returns the version that the visit reflects. After version 0
    /// that is every listed order, and no removed one.
    fn for_each_order_since(
        &self,
        version: i64,
        visit: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<i64, StoreError>;

    /// Cancels a batch in one transaction, which is durable on return. On an
    /// error nothing is changed. Deadlines are looked at once nothing else can write:
    /// a cancellation past its own is not carried out.
    fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError>;

    /// The pet of this id.
    fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError>;

    /// Every key that was ever issued, with the limits of its account.
    fn keys(&self) -> Result<Vec<(Digest, KeyRow)>, StoreError>;

    /// The number of orders in each status. It may read every row, and blocks no
    /// other call.
    fn count_orders(&self) -> Result<OrderCounts, StoreError>;

    /// The first damage to the structure of the store, if there is any. It reads all of it,
    /// blocks no other call, and ends with an error once `gives_up` returns true.
    fn quick_check(
        &self,
        gives_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<String>, StoreError>;

    /// Commits a write that changes no row, to test whether writing works.
    fn try_write(&self) -> Result<(), StoreError>;

    /// Records when keys were last used: rows of keys, wall time in milliseconds.
    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError>;
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory cannot be used.
    #[error("cannot use the data directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a store of ours.
    #[error("{} is not a store of Store Orders; choose another --data-dir", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error(
        "{} was written by a newer version of store-orders (schema {found}, this one knows up to \
         {known}); use that version",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// A rule forbids it: the operator named something that does not exist, or
    /// exists already.
    #[error("{0}")]
    Refused(String),
    /// The engine failed.
    #[error("the store cannot be {doing}")]
    Engine {
        /// What it was asked to do, as a participle.
        doing: &'static str,
        /// The engine's error.
        source: Box<dyn Error + Send + Sync>,
    },
}
