//! What the server and the operator's commands ask of a store, and nothing of how an
//! engine keeps it. The embedded default is [`sqlite`].
//!
//! | File | Its job |
//! |---|---|
//! | `serving` | what a running server asks |
//! | `operator` | what the operator's commands ask |
//! | `error` | why a store did not do what it was asked |
//! | `rows` | the rows, plain values on every engine |
//! | `rules` | what a change may do and what it answers, on every engine |
//! | `report` | what `check` reports, and the checks that every engine shares |
//! | `postgres` | the SQL of PostgreSQL, which several servers share |
//! | `sqlite` | the SQL and the files of the embedded engine |

mod error;
mod operator;
pub mod postgres;
mod report;
mod rows;
mod rules;
mod serving;
pub mod sqlite;

pub use error::StoreError;
pub use operator::{OperatorStore, WaitNotice};
pub use report::CheckReport;
pub use rows::{
    Account, CancelOutcome, Cancellation, CancelledBatch, ImportOutcome, IssuedKey, KeyRecord,
    KeyRow, ListedOrder, NewKey, NewOrder, OrderChange, OrderCounts, OrdersVersion, PolledVersions,
    Rotation, Status, StoredOrder, Structure, UnknownStatus, VersionCheck, Versions,
};
pub use rules::{MAX_OVERLAP, MIN_USE_INTERVAL_MS, is_expired};
pub use serving::Store;
