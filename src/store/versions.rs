//! How often a store has changed, and asking it for that.

use super::error::StoreError;
use crate::clock::BootInstant;
use std::sync::Arc;
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
    pub as_of: BootInstant,
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
