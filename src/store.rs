//! The storage interface: [`Store`] for a running server, [`OperatorStore`] for the operator's
//! commands. Two engines implement both: [`sqlite`], the embedded default, and [`postgres`].
//!
//! | File | Its job |
//! |---|---|
//! | `operator_store` | the interface of the operator's commands, and the SQL that both engines share |
//! | `error` | the errors of a store |
//! | `row` | describes a row in one place: fields, columns and SQL types |
//! | `order_rows`, `account_rows` | the rows, as plain values for both engines |
//! | `freshness` | types for querying the last changes |
//! | `agreement` | the decisions that keep several servers consistent with one store |
//! | `statements`, `value` | executing SQL that both engines share, and its values |
//! | `rules` | the rules that changes must follow, and their error messages, on both engines |
//! | `postgres` | the engine for PostgreSQL, in which several servers share a store |
//! | `sqlite` | the SQL and the files of the embedded engine |

mod account_rows;
pub mod agreement;
mod error;
mod freshness;
mod operator_store;
mod order_rows;
pub mod postgres;
mod row;
mod rules;
pub mod sqlite;
mod statements;
mod value;

pub use account_rows::{
    Account, AccountPlan, IssuedKey, Key, KeyChange, KeyRecord, MAX_CHANGED_KEYS, NewKey, Rotation,
};
pub use error::StoreError;
pub use freshness::{
    ChangeScope, ChangedOrders, Freshness, FreshnessAnswer, FreshnessReport, LastChanges,
    LookedUpKeys, OrdersRead, PolledChanges, PolledKeys, Position,
};
pub use operator_store::{
    AccountCommands, CheckReport, KeyCommands, OperatorStore, OrderCommands, STEP_RECORDS,
    STEP_RECORDS_BESIDE_SERVERS, UnfinishedImport, UnfinishedSteps, existing_in_steps,
    import_in_steps, in_steps, statuses_in_steps,
};
pub use order_rows::{
    CancelOutcome, Cancellation, Cancelled, CancelledBatch, ImportOutcome, NotExecuted, Order,
    OrderCounts, OrderStatus, OrderUpdate, RecordKind, Records, Status,
};
pub use rules::{MAX_OVERLAP, MIN_USE_INTERVAL_MS, can_cancel, can_ship, can_update};

use crate::api_key::Digest;
use crate::rate_limiter::NewBan;
use async_trait::async_trait;
use slog::Logger;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::types::Pet;
use tokio::sync::mpsc;

/// The position of a list or cache that has not read the store yet. No store has this history, so
/// the position never equals the position of a store, even of a store without changes.
pub const UNREAD: Position = Position { history: u64::MAX, number: 0 };

/// The longest time that a request may wait for the store, counted from the request's arrival.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of cancellations in a batch. A longer batch would delay its requests, because
/// each request waits for the whole batch.
pub const LARGEST_BATCH: usize = 1_024;

/// The maximum number of single-row lookups that one server runs at the same time.
pub const ROW_LOOKUPS: u32 = 16;

/// The maximum time that the readiness check waits for the store. Each scrape of the metrics waits
/// for this check, and Prometheus's default timeout is 10 seconds.
pub const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest time that a command waits for other writers before a write. On PostgreSQL, the limit
/// applies to each lock.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    Sound,
    Damaged(String),
    /// This program did not check the structure, because PostgreSQL checks each page when it reads
    /// the page.
    CheckedByEngine,
}

/// The maximum number of orders in one message of an [`OrderSender`].
pub const SENT_ORDERS: usize = 1_000;

pub type OrderSender = mpsc::Sender<Vec<Order>>;

pub type GivesUp = Box<dyn Fn() -> bool + Send>;

/// How many synchronous standbys must confirm each commit, and how many can. Both numbers are zero
/// on an engine without standbys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standbys {
    pub required: u32,
    pub confirming: u32,
}

/// The store of orders, pets, accounts and keys, as a running server uses it.
///
/// Asynchronous methods do not block the polling thread. Other methods return immediately unless
/// the disk hangs. The work of a dropped future may continue, so callers must bound how many
/// futures they start. A panic of the engine reaches the caller.
#[async_trait]
pub trait Store: Send + Sync {
    /// Queries the last changes, including every commit before the call, by any process. `list` is
    /// the last change that the caller's list reflects. The result may contain the orders that
    /// changed after `list`.
    ///
    /// Every list request makes this call, so an embedded engine does not allocate memory for the
    /// result.
    fn query_freshness(&self, list: Option<Position>) -> Result<Freshness, StoreError>;

    /// Returns the last changes. They reflect every commit before the call, by any process. Returns
    /// `None` if the read fails or would have to wait.
    fn last_changes_at_once(&self) -> Option<LastChanges> {
        None
    }

    /// Reads the last changes, and the time at which they were current. Must not delay list
    /// requests, which use [`Store::query_freshness`] instead.
    async fn poll_changes(&self) -> Result<PolledChanges, StoreError> {
        Ok(self.poll_keys(None).await?.polled)
    }

    /// Does the same as [`Store::poll_changes`]. If `after` is given, also reads the accounts and
    /// keys that changed after this position.
    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError>;

    /// Looks up keys and their accounts by digest. Includes revoked and expired keys.
    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError>;

    /// Sends the orders that changed after the position `after`, in ascending order of id. Returns
    /// the position that the read has reached. Fails if the store no longer follows the history of
    /// `after`.
    ///
    /// If the number of `after` is 0, sends all orders that are not cancelled. For any other
    /// number, the read may stop before the store's last change, to limit the number of rows.
    ///
    /// An order that changed again after the returned position may be missing, or already be in its
    /// later state.
    async fn send_orders_since(
        &self,
        after: Position,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError>;

    /// Cancels a batch in one transaction. The transaction is durable when this method returns
    /// `Ok`. Skips each cancellation whose deadline passes before the transaction gets the store's
    /// write lock. However, if PostgreSQL was suspended, it may execute a cancellation after the
    /// deadline.
    ///
    /// After an error, the batch may still have been executed in two cases:
    ///
    /// - Files of the store were removed or moved.
    /// - PostgreSQL's reply to the commit was lost, late, or without a standby's confirmation.
    async fn cancel(&self, batch: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError>;

    /// Returns the order if it is cancelled and no failover can lose the cancellation. Fails if the
    /// cancellation is not confirmed in time. `history` is the history of the caller's list.
    ///
    /// Fails if the store now has another history, because the order may be pending in the new
    /// history.
    async fn cancelled_order(&self, id: i64, history: u64) -> Result<Option<Order>, StoreError>;

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError>;

    /// Returns the damage that was found while orders were read, or `None` if no damage was found.
    fn damage(&self) -> Option<&str> {
        None
    }

    /// Returns the Unix time of the last `backup`, or 0 if no backup is known. Returns `None` if
    /// the engine has its own tools for backups.
    fn last_backup(&self) -> Option<f64> {
        None
    }

    /// Checks the structure of an embedded store by reading all of it, without delaying other
    /// calls. Does not check a store in PostgreSQL, because PostgreSQL checks its own pages. Fails
    /// once `gives_up` returns true.
    async fn quick_check(&self, gives_up: GivesUp) -> Result<Structure, StoreError>;

    /// Fails if this server should not receive requests, for example because its session or its
    /// lease has ended. The store may still answer.
    fn require_ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// True if a failing store may work again without a restart of this server. If true, the server
    /// starts even while the store fails.
    fn can_return(&self) -> bool {
        false
    }

    /// Returns how many standbys must confirm a commit, and how many could when last checked.
    fn standbys(&self) -> Standbys {
        Standbys::default()
    }

    /// Publishes this server's URL in the store, so that the operator can find the server.
    fn announce(&self, _url: String) {}

    /// Removes this server's row from PostgreSQL, or empties the write-ahead log of an embedded
    /// store. The server calls this method after it has stopped serving. Logs what could not be
    /// done within `timeout`.
    async fn leave(&self, _timeout: Duration, _log: &Logger) {}

    /// Commits a write that changes no row, to test whether writing works.
    async fn try_write(&self) -> Result<(), StoreError>;

    /// Writes these bans to the rows of their keys, in one change. If a row's ban has the same or a
    /// higher `number`, the row's ban wins.
    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError>;

    /// Records when keys were last used. A use is the key's row and a time in Unix milliseconds.
    /// `uses` must contain at most one use per key.
    ///
    /// Skips a use within [`MIN_USE_INTERVAL_MS`] of the key's recorded use. In PostgreSQL, also
    /// skips locked rows.
    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError>;
}
