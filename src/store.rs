//! What the server and the operator's commands ask of a store, and nothing of how an
//! engine keeps it. The embedded default is [`sqlite`].
//!
//! | File | Its job |
//! |---|---|
//! | `serving` | what a running server asks |
//! | `commands` | what the operator's commands ask, and the statements that every engine shares |
//! | `error` | why a store did not do what it was asked |
//! | `order_rows`, `account_rows` | the rows, plain values on every engine |
//! | `freshness` | asking for the last changes |
//! | `agreement` | what servers decide so that together they keep the store's promises |
//! | `rules` | what a change may do and what it answers, on every engine |
//! | `timeouts` | how long everything waits, and what ties these times |
//! | `report` | what `check` reports, and the checks that every engine shares |
//! | `postgres` | the SQL of PostgreSQL, which several servers share |
//! | `sqlite` | the SQL and the files of the embedded engine |

mod account_rows;
pub mod agreement;
mod commands;
mod error;
mod freshness;
mod order_rows;
pub mod postgres;
mod report;
mod rules;
mod serving;
pub mod sqlite;
mod timeouts;

pub use account_rows::{
    Account, AccountRow, IssuedKey, KeyChange, KeyRecord, KeyRow, NewKey, Rotation,
};
pub use commands::{
    AccountCommands, Ended, KeyCommands, OperatorStore, OrderCommands, STEP_RECORDS,
    STEP_RECORDS_BESIDE_SERVERS, UnfinishedImport, existing_in_steps, import_in_steps, in_steps,
    statuses_in_steps,
};
pub use error::StoreError;
pub use freshness::{
    ChangeNumber, ChangedOrders, Freshness, FreshnessAnswer, Half, LastChanges, Latest, OrdersRead,
    PolledChanges, history_of,
};
pub use order_rows::{
    CancelOutcome, Cancellation, CancelledBatch, CancelledOrder, ChangedOrder, ImportOutcome,
    ListedOrder, NewOrder, OrderChange, OrderCounts, OrderUpdate, RecordKind, Records, Status,
    StoredOrder,
};
pub use report::{CheckReport, Structure};
pub use rules::{
    MAX_OVERLAP, MIN_USE_INTERVAL_MS, can_ship, can_update, is_expired, refused_whole,
};
pub use serving::{GivesUp, Standbys, Store};
pub use timeouts::{PATIENCE, SILENT_FOR};
