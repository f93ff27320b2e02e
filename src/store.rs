//! What the server and the operator's commands ask of a store, and nothing of how an
//! engine keeps it: here is what a running server asks. The embedded default is [`sqlite`].
//!
//! | File | Its job |
//! |---|---|
//! | `commands` | what the operator's commands ask, and the statements that every engine shares |
//! | `error` | why a store did not do what it was asked |
//! | `order_rows`, `account_rows` | the rows, plain values on every engine |
//! | `freshness` | asking for the last changes |
//! | `agreement` | what servers decide so that together they keep the store's promises |
//! | `statements`, `value` | statements that every engine carries out, and their values |
//! | `rules` | what a change may do and what it answers, on every engine |
//! | `postgres` | the SQL of PostgreSQL, which several servers share |
//! | `sqlite` | the SQL and the files of the embedded engine |

mod account_rows;
pub mod agreement;
mod commands;
mod error;
mod freshness;
mod order_rows;
pub mod postgres;
mod rules;
pub mod sqlite;
mod statements;
mod value;

pub use account_rows::{
    Account, AccountRow, IssuedKey, KeyChange, KeyRecord, KeyRow, MAX_CHANGED_KEYS, NewKey,
    Rotation,
};
pub use commands::{
    AccountCommands, CheckReport, Ended, KeyCommands, OperatorStore, OrderCommands, STEP_RECORDS,
    STEP_RECORDS_BESIDE_SERVERS, UnfinishedImport, existing_in_steps, import_in_steps, in_steps,
    statuses_in_steps,
};
pub use error::StoreError;
pub use freshness::{
    ChangeNumber, ChangeScope, ChangedOrders, Freshness, FreshnessAnswer, FreshnessReport,
    LastChanges, LookedUpKeys, OrdersRead, PolledChanges, PolledKeys, history_of,
};
pub use order_rows::{
    CancelOutcome, Cancellation, CancelledBatch, CancelledOrder, ChangedOrder, ImportOutcome,
    ListedOrder, NewOrder, OrderChange, OrderCounts, OrderUpdate, RecordKind, Records, Status,
    StoredOrder,
};
pub use rules::{MAX_OVERLAP, MIN_USE_INTERVAL_MS, can_ship, can_update, is_expired};

use crate::keys::Digest;
use crate::limits::NewBan;
use async_trait::async_trait;
use slog::Logger;
use std::sync::Arc;
use std::time::Duration;
use store_orders_api::types::Pet;
use tokio::sync::mpsc;

/// How long a request waits for the store, from its arrival.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How many single rows a server looks up at the same time.
pub const ROW_LOOK_UPS: u32 = 16;

/// How long readiness waits for the store: less than a scrape may take.
pub const READINESS_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a command waits for servers and other commands that write.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// What is known of the structure of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// No damage was found.
    Sound,
    /// The first damage that was found.
    Damaged(String),
    /// The engine's server checks it, when it reads a page.
    CheckedByEngine,
}

/// How many changed orders are sent at a time.
pub const SENT_ORDERS: usize = 1_000;

/// Takes changed orders, at most [`SENT_ORDERS`] at a time.
pub type OrderSender = mpsc::Sender<Vec<ChangedOrder>>;

/// Says when a check is to be given up.
pub type GivesUp = Box<dyn Fn() -> bool + Send>;

/// Standbys of the store that must confirm each commit; none on an engine without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standbys {
    /// How many have to.
    pub required: u32,
    /// How many can.
    pub confirming: u32,
}

/// Where a running server keeps orders, pets, accounts and keys.
///
/// An asynchronous method does not block the thread that polls it, and the others answer at once,
/// unless the disk hangs. What a dropped future asked for may go on: who drops one bounds how many
/// are under way. A panic of the engine reaches the caller.
#[async_trait]
pub trait Store: Send + Sync {
    /// Asks for the last changes, including every change that any process committed before the
    /// call. For each list, which is at this change: it costs an embedded engine no allocation. The
    /// answer may bring what the list lacks.
    fn freshness(&self, list: Option<ChangeNumber>) -> Result<Freshness, StoreError>;

    /// The last changes, including every change that any process committed before the call, if the
    /// engine reads them without waiting.
    fn last_changes_at_once(&self) -> Option<LastChanges> {
        None
    }

    /// Names the history that the numbers of changes belong to: the same for every server of the
    /// store and after its restart, and another where numbers may have been used again, as after a
    /// restore or a failover.
    fn history(&self) -> Result<u64, StoreError>;

    /// The last changes, and how old that news may be, without holding up a list.
    async fn poll_changes(&self) -> Result<PolledChanges, StoreError> {
        Ok(self.poll_keys(None).await?.polled)
    }

    /// [`Store::poll_changes`] with the accounts and keys that changed after this change, if there is
    /// one.
    async fn poll_keys(&self, after: Option<ChangeNumber>) -> Result<PolledKeys, StoreError>;

    /// Looks up keys that were ever issued, with their accounts, by their digests.
    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError>;

    /// Sends, in ascending order of id, every order whose row changed after this change. After
    /// number 0 that is every listed order, and no removed one; what changes meanwhile may be in
    /// it, and is after the reached change. After any other it may end before the last change, so
    /// that its rows are few. An error if the store is no longer at this generation.
    async fn send_orders_since(
        &self,
        after: ChangeNumber,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError>;

    /// Cancels a batch in one transaction, which is durable on return. On an
    /// error nothing is changed, unless files of the store were removed or moved. Deadlines are
    /// looked at once nothing else can write: a cancellation past its own is not carried out.
    async fn cancel(&self, batch: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError>;

    /// The order of this id, if it is cancelled and no failover loses that.
    async fn cancelled_order(&self, id: i64) -> Result<Option<CancelledOrder>, StoreError>;

    /// The pet of this id.
    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError>;

    /// The damage that reading the orders has found, if any.
    fn damage(&self) -> Option<&str> {
        None
    }

    /// Checks the structure of the store, where that is ours to do. It reads all of it,
    /// holds up no other call, and ends with an error once `gives_up` returns true.
    async fn quick_check(&self, gives_up: GivesUp) -> Result<Structure, StoreError>;

    /// Why requests should be sent elsewhere although the store answers, if they should.
    fn require_ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The standbys that must confirm each commit, as this server last saw them.
    fn standbys(&self) -> Standbys {
        Standbys::default()
    }

    /// Tells the operator, through the store, where this server listens.
    fn announce(&self, _url: String) {}

    /// The last call of a server, which serves no list afterwards. What could not be done within
    /// this time is logged.
    async fn leave(&self, _timeout: Duration, _log: &Logger) {}

    /// Commits a write that changes no row, to test whether writing works.
    async fn try_write(&self) -> Result<(), StoreError>;

    /// Writes these bans to the rows of their keys, in one change. A row that has a ban of this or a
    /// higher number keeps it.
    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError>;

    /// Records when keys were last used: rows of keys, wall time in milliseconds. Returns the
    /// uses of those whose rows another process has locked, which are not recorded.
    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<Vec<(i64, i64)>, StoreError>;
}
