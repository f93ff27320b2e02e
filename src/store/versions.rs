//! How often a store has changed, and asking it for that.

use super::error::StoreError;
use super::order_rows::CancelledBatch;
use crate::clock::BootInstant;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tokio::sync::oneshot;

/// How far each half of the store is. Every change has a higher number than the ones before,
/// stored with the rows that it changed, in the same transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Numbers the generations that this process has seen. Versions of different ones cannot
    /// be compared: after a failover that lost commits, their numbers are used again.
    /// Always 0 on an engine without failover.
    pub generation: u64,
    /// The last change of orders: an import, a shipment or cancellations.
    pub orders: i64,
    /// The last change of accounts or keys.
    pub keys: i64,
}

impl Versions {
    /// The half of the orders.
    pub fn of_orders(self) -> HalfVersion {
        HalfVersion { generation: self.generation, number: self.orders }
    }

    /// The half of accounts and keys.
    pub fn of_keys(self) -> HalfVersion {
        HalfVersion { generation: self.generation, number: self.keys }
    }
}

/// The name of the history that these identify: the store, and what may have lost changes of it.
pub fn history_of(parts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let mut name = [0; 8];
    name.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    u64::from_be_bytes(name)
}

/// A half of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Orders.
    Orders,
    /// Accounts and keys.
    Keys,
}

/// A version of the orders alone, or of accounts and keys alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HalfVersion {
    /// The generation that it belongs to.
    pub generation: u64,
    /// The number of the half's last change in it; 0 before the first.
    pub number: i64,
}

impl HalfVersion {
    /// Before the first change of a generation.
    pub fn beginning(generation: u64) -> HalfVersion {
        HalfVersion { generation, number: 0 }
    }

    /// Whether what reflects the other version lacks something that this one has.
    pub fn has_more_than(self, other: HalfVersion) -> bool {
        self.generation != other.generation || self.number > other.number
    }

    /// The version of a list that now also lacks what this batch cancelled. It stays if the batch
    /// began at another version: changes of another process are missing then.
    #[must_use]
    pub fn after(self, batch: &CancelledBatch) -> HalfVersion {
        match batch.versions {
            Some((before, number))
                if batch.generation == self.generation && before == self.number =>
            {
                HalfVersion { number, ..self }
            }
            _ => self,
        }
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
