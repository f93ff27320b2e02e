//! The store's answers to queries for its last changes, with the changed orders, accounts and keys.

pub use super::agreement::position::{LastChanges, Position};
pub use super::agreement::reading::OrdersRead;

use super::account_rows::{KeyChange, KeyRecord};
use super::agreement::key_cache;
use super::error::StoreError;
use super::order_rows::Order;
use crate::clock::BootInstant;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeScope {
    Orders,
    /// Accounts and keys.
    Keys,
}

pub type PolledChanges = key_cache::ChangesAsOf<BootInstant>;

/// Read at one moment: the last changes, and the accounts and keys that changed after the caller's
/// position.
#[derive(Clone, Debug)]
pub struct PolledKeys {
    pub polled: PolledChanges,
    /// All accounts and keys that changed after the caller's position. `None` in each of these
    /// cases:
    ///
    /// - The caller gave no position.
    /// - No account or key has changed since this position.
    /// - More than [`MAX_CHANGED_KEYS`](super::MAX_CHANGED_KEYS) accounts and keys have changed.
    /// - The position belongs to another history.
    pub changes: Option<Vec<KeyChange>>,
}

#[derive(Clone, Debug)]
pub struct LookedUpKeys {
    /// The last changes at the time of the lookup.
    pub polled: PolledChanges,
    /// The keys that were found. A digest of a key that was never issued has no entry.
    pub keys: Vec<KeyRecord>,
}

#[derive(Clone, Debug)]
pub struct FreshnessReport {
    /// The last changes. They include every change that was committed before the query was sent.
    pub last_changes: LastChanges,
    /// The orders that changed after the position of the list in memory. `None` if no order
    /// changed, if too many changed, or if the query did not read orders.
    pub changes: Option<Arc<ChangedOrders>>,
}

/// All orders that changed after the position `after`.
#[derive(Debug)]
pub struct ChangedOrders {
    pub after: Position,
    /// In ascending order of id.
    pub orders: Vec<Order>,
}

/// The answer to a pending query, or `None` until the answer arrives. An error is in an `Arc`,
/// because all callers that wait for the query share the error.
pub type FreshnessAnswer = Option<Result<FreshnessReport, Arc<StoreError>>>;

/// The answer to a freshness query. The embedded store answers immediately, PostgreSQL later.
#[derive(Clone, Debug)]
pub enum Freshness {
    Known(FreshnessReport),
    /// The answer is pending. A dropped sender means that the query failed.
    Awaited(watch::Receiver<FreshnessAnswer>),
}

impl Freshness {
    pub async fn wait(self) -> Result<FreshnessReport, Arc<StoreError>> {
        match self {
            Freshness::Known(latest) => Ok(latest),
            Freshness::Awaited(mut answer) => {
                let answer = answer.wait_for(Option::is_some).await;
                let answer = answer.ok().and_then(|answer| answer.clone());
                let lost = || StoreError::Engine { doing: "asked", source: "no answer".into() };
                answer.unwrap_or_else(|| Err(Arc::new(lost())))
            }
        }
    }
}
