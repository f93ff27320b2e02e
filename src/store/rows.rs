//! The rows that cross the [`Store`](super::Store) trait and the operator's commands:
//! plain values, the same on every engine.

use super::error::StoreError;
use crate::keys::{ApiKey, Environment};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::plans::{Plan, PlanLimits};
use tokio::sync::oneshot;

/// How often each half of the store has changed. Every change raises its half's
/// number and stores it with the changed rows, in the same transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Numbers the histories that this process has seen. Versions of different ones cannot
    /// be compared: after a failover that lost commits, their numbers are used again.
    /// Always 0 on an engine without failover.
    pub history: u64,
    /// Orders: imports, shipments and cancellations.
    pub orders: i64,
    /// Accounts and keys.
    pub keys: i64,
}

impl Versions {
    /// The half of the orders.
    pub fn of_orders(self) -> OrdersVersion {
        OrdersVersion { history: self.history, number: self.orders }
    }
}

/// A version of the orders alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdersVersion {
    /// The history that it belongs to.
    pub history: u64,
    /// How often orders have changed in it; 0 before the first.
    pub number: i64,
}

impl OrdersVersion {
    /// Whether what reflects the other version lacks something that this one has.
    pub fn has_more_than(self, other: OrdersVersion) -> bool {
        self.history != other.history || self.number > other.number
    }
}

/// The versions, and how old that news may be.
#[derive(Clone, Copy, Debug)]
pub struct PolledVersions {
    /// The versions.
    pub versions: Versions,
    /// Every change that was acknowledged before this is in them.
    pub as_of: Instant,
}

/// The answer to a request that asks for the versions.
#[derive(Debug)]
pub enum VersionCheck {
    /// They are known at once.
    Known(Versions),
    /// They follow. A sender that is dropped could not ask the store.
    Awaited(oneshot::Receiver<Result<Versions, Arc<StoreError>>>),
}

impl VersionCheck {
    /// The versions, once they are known. An error is shared by all that waited.
    pub async fn wait(self) -> Result<Versions, Arc<StoreError>> {
        match self {
            VersionCheck::Known(versions) => Ok(versions),
            VersionCheck::Awaited(answer) => {
                let lost = || StoreError::Engine { doing: "asked", source: "no answer".into() };
                answer.await.unwrap_or_else(|_| Err(Arc::new(lost())))
            }
        }
    }
}

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

/// The status of an order in the store. The published record has no such field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Can be cancelled.
    Pending,
    /// Can no longer be cancelled.
    Shipped,
    /// Listed nowhere; the id is never used again.
    Cancelled,
}

impl Status {
    /// Every status.
    pub const ALL: [Status; 3] = [Status::Pending, Status::Shipped, Status::Cancelled];

    /// The status as the command line and the store write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Shipped => "shipped",
            Status::Cancelled => "cancelled",
        }
    }
}

/// A text that is not the [`as_str`](Status::as_str) of any status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such status")]
pub struct UnknownStatus;

impl FromStr for Status {
    type Err = UnknownStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Status::ALL.into_iter().find(|status| status.as_str() == text).ok_or(UnknownStatus)
    }
}

/// An order as a list shows it, borrowed from the store's row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedOrder<'a> {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date as sent over the wire: RFC 3339 in UTC with `Z`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<&'a str>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
}

/// A change of the list since some version.
#[derive(Clone, Copy, Debug)]
pub enum OrderChange<'a> {
    /// The order is listed, with these fields.
    Listed(ListedOrder<'a>),
    /// The order of this id is no longer listed.
    Removed(i64),
}

/// A request to cancel an order. The row keeps who asked and when.
#[derive(Clone, Debug)]
pub struct Cancellation {
    /// The order.
    pub order_id: i64,
    /// `key_…` of the key that asked.
    pub key_id: Arc<str>,
    /// When it asked.
    pub at: DateTime<Utc>,
    /// When nobody waits for the outcome any more.
    pub deadline: Instant,
}

/// The outcome of a request to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The order was pending and is cancelled, durably.
    Cancelled,
    /// There is no such order, or it is cancelled already.
    NotFound,
    /// The order has shipped and is unchanged.
    AlreadyShipped,
    /// The deadline had passed before the store could write; the order is unchanged.
    Expired,
}

/// The outcomes of a batch of cancellations, made in one transaction.
#[derive(Debug)]
pub struct CancelledBatch {
    /// One for each request, in their order.
    pub outcomes: Vec<CancelOutcome>,
    /// The history that both versions belong to.
    pub history: u64,
    /// The version of the orders before the transaction.
    pub before: i64,
    /// The version of the orders after it.
    pub after: i64,
}

/// The number of orders in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OrderCounts {
    /// Pending.
    pub pending: i64,
    /// Shipped.
    pub shipped: i64,
    /// Cancelled.
    pub cancelled: i64,
}

/// A key as the server checks it, with the limits of its account.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`, as lists and logs show it.
    pub id: Arc<str>,
    /// The row of its account in the store.
    pub account: i64,
    /// The plan of its account.
    pub plan: Plan,
    /// The limits of its account.
    pub limits: PlanLimits,
    /// Wall time in milliseconds from which the key is refused.
    pub expires_at_ms: Option<i64>,
    /// Whether the operator revoked it.
    pub revoked: bool,
    /// Wall time in milliseconds of the last recorded use; 0 if never used.
    pub used_at_ms: i64,
    /// Wall time in milliseconds at which the operator last lifted a ban; 0 if never. It
    /// only rises.
    pub unbanned_at_ms: i64,
}

/// An order to be imported; its fields have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered, at least 1.
    pub quantity: i32,
    /// Expected or actual ship date.
    pub ship_date: Option<DateTime<Utc>>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Whether it has shipped, and so cannot be cancelled.
    pub shipped: bool,
}

#[cfg(test)]
impl NewOrder {
    /// A pending order of this id, for unit tests.
    pub fn pending(id: i64) -> NewOrder {
        let (ship_date, complete, shipped) = (None, false, false);
        NewOrder { id, pet_id: 7, quantity: 1, ship_date, complete, shipped }
    }
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportOutcome {
    /// Records stored.
    pub imported: usize,
    /// Records skipped because their id was in the store already.
    pub skipped: usize,
}

/// An order with everything that the store knows of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<String>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Its status.
    pub status: Status,
    /// When it was cancelled, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<String>,
    /// `key_…` of the key that cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
}

/// A customer's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its row in the store, which logs name.
    pub id: i64,
    /// The name, which is unique.
    pub name: String,
    /// The customer's plan.
    pub plan: Plan,
    /// The limits in force: the plan's, or Enterprise's own.
    pub limits: PlanLimits,
    /// When it was created, RFC 3339 in UTC.
    pub created_at: String,
    /// When it was closed, RFC 3339 in UTC.
    pub closed_at: Option<String>,
    /// How many of its keys are neither revoked nor expired.
    pub keys: i64,
}

/// A key to be issued.
#[derive(Clone, Debug)]
pub struct NewKey<'a> {
    /// The name of its account.
    pub account: &'a str,
    /// The environment it is valid in.
    pub environment: Environment,
    /// How long it is valid; forever if none.
    pub expires_after: Option<Duration>,
}

/// A key that was just issued: the only time that the key itself is visible.
#[derive(Debug)]
pub struct IssuedKey {
    /// `key_…`, which names it from now on.
    pub id: String,
    /// The key itself.
    pub key: ApiKey,
}

/// A rotation: which key, and how long it stays valid alongside its successor.
#[derive(Clone, Copy, Debug)]
pub struct Rotation<'a> {
    /// `key_…` of the key to be replaced.
    pub key_id: &'a str,
    /// Counted from now; at most 7 days.
    pub overlap: Duration,
}

/// A key as the operator sees it. Times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The row of the key in the store.
    pub row: i64,
    /// `key_…`.
    pub id: String,
    /// The name of its account.
    pub account: String,
    /// The environment it is valid in.
    pub environment: Environment,
    /// When it was issued.
    pub issued_at: i64,
    /// When it expires.
    pub expires_at: Option<i64>,
    /// When it was revoked.
    pub revoked_at: Option<i64>,
    /// When it was last used, to the minute.
    pub used_at: Option<i64>,
    /// `key_…` of the key that replaces it.
    pub successor: Option<String>,
    /// When a ban of it was last lifted.
    pub unbanned_at: Option<i64>,
}
