//! What the server asks of a store, and nothing of how one keeps it. The
//! embedded default is [`sqlite`].
//!
//! Every method blocks. All but [`Store::versions`] belong on a thread that may.

pub mod sqlite;

use crate::keys::{Digest, KnownKey};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use store_orders_api::types::Pet;

/// How often each half of the store has changed. Whoever changes rows raises
/// the half's number and stores it with them, in the same transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Orders: imports and cancellations.
    pub orders: i64,
    /// Accounts and keys.
    pub keys: i64,
}

/// The states of an order in the store. The published record has no such field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It can be cancelled.
    Pending,
    /// It cannot be cancelled any more.
    Shipped,
    /// It is in no list; its id is never used again.
    Cancelled,
}

impl Status {
    /// The name as the store and the command line write it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Shipped => "shipped",
            Status::Cancelled => "cancelled",
        }
    }

    /// The status of this [`name`](Status::name), if there is one.
    pub fn named(name: &str) -> Option<Status> {
        [Status::Pending, Status::Shipped, Status::Cancelled]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// An order as a list needs it, borrowed from the store's row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedOrder<'a> {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date as it goes over the wire: RFC 3339 in UTC with `Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<&'a str>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
}

/// A change of the list since some version.
#[derive(Clone, Copy, Debug)]
pub enum OrderChange<'a> {
    /// The order is in the list, as it stands here.
    Listed(ListedOrder<'a>),
    /// The order of this id is in no list any more.
    Gone(i64),
}

/// A request to cancel an order.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The order.
    pub order_id: i64,
    /// Which key asked: the row keeps it.
    pub key_id: Arc<str>,
    /// When: the row keeps it.
    pub at: DateTime<Utc>,
}

/// What became of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The order was pending and is cancelled, durably.
    Cancelled,
    /// There is no such order, or it is cancelled already.
    NotFound,
    /// The order has shipped and is unchanged.
    AlreadyShipped,
}

/// What became of a batch of cancellations, carried out in one transaction.
#[derive(Debug)]
pub struct CancelledBatch {
    /// An outcome for each request, in their order.
    pub outcomes: Vec<CancelOutcome>,
    /// The version of the orders before the transaction.
    pub before: i64,
    /// The version of the orders after it.
    pub after: i64,
}

/// How many orders are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    /// Pending.
    pub pending: i64,
    /// Shipped.
    pub shipped: i64,
    /// Cancelled.
    pub cancelled: i64,
}

/// Where orders, pets, accounts and keys are kept.
pub trait Store: Send + Sync {
    /// The versions as of all that was committed before the call, by whichever
    /// process. Cheap enough for every request.
    fn versions(&self) -> Result<Versions, StoreError>;

    /// Visits, in ascending order of id, every order whose row was changed
    /// after this version, and returns the version that the visit reflects.
    /// After version 0 that is every listed order, and no order that is gone.
    fn for_each_order_since(
        &self,
        after: i64,
        visit: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<i64, StoreError>;

    /// Carries out a batch in one transaction, which is durable on return.
    /// Either all of it happened or, on an error, nothing.
    fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError>;

    /// The pet of this id.
    fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError>;

    /// Every key that was ever issued, with the limits of its account.
    fn keys(&self) -> Result<Vec<(Digest, KnownKey)>, StoreError>;

    /// How many orders are in which state. It may read every row, and holds up
    /// nobody else meanwhile.
    fn count_orders(&self) -> Result<OrderCounts, StoreError>;

    /// Writes something that changes nothing, to see whether writing works.
    fn try_write(&self) -> Result<(), StoreError>;

    /// Notes when keys were last used: rows of keys, wall time in milliseconds.
    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError>;
}

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory cannot be used.
    #[error("cannot use the data directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no store of ours.
    #[error("{} is not a store of Store Orders; choose another --data-dir", path.display())]
    Foreign {
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
    /// A row that the schema should not allow.
    #[error("the store holds a row that makes no sense: {0}")]
    Senseless(String),
    /// The operator named something that is not there, or is there already.
    #[error("{0}")]
    Refused(String),
    /// SQLite could not read or write.
    #[error("the store cannot be {doing}")]
    Sqlite {
        /// What it was asked to do, as a participle.
        doing: &'static str,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}
