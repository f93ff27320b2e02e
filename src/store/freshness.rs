//! Asking a store for its last changes.

pub use super::agreement::change_numbers::{ChangeNumber, LastChanges};
pub use super::agreement::reading::OrdersRead;

use super::account_rows::{KeyChange, KeyRow};
use super::agreement::keys;
use super::error::StoreError;
use super::order_rows::ChangedOrder;
use crate::clock::BootInstant;
use crate::keys::Digest;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tokio::sync::watch;

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

/// The part of the store that a change belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeScope {
    /// Orders.
    Orders,
    /// Accounts and keys.
    Keys,
}

/// The last changes, and how old that news may be.
pub type PolledChanges = keys::PolledChanges<BootInstant>;

/// The last changes, and the accounts and keys that came with them, as of one moment.
#[derive(Clone, Debug)]
pub struct PolledKeys {
    /// The last changes.
    pub polled: PolledChanges,
    /// All accounts and keys that changed after the change that was asked about; none if nothing
    /// has changed, very much has, or that change is of another generation.
    pub changes: Option<Vec<KeyChange>>,
}

/// The keys that were looked up by their digests.
#[derive(Clone, Debug)]
pub struct LookedUpKeys {
    /// What they are as of.
    pub polled: PolledChanges,
    /// Those that were ever issued.
    pub keys: Vec<(Digest, KeyRow)>,
}

/// The answer to a question for the last changes.
#[derive(Clone, Debug)]
pub struct FreshnessReport {
    /// The history of the store that was asked, see [`Store::history`](super::Store::history).
    pub history: u64,
    /// The last changes, with every one that was committed before the question was asked.
    pub last_changes: LastChanges,
    /// The orders that changed, if they came with the answer.
    pub changes: Option<Arc<ChangedOrders>>,
}

/// All orders that changed after a change.
#[derive(Debug)]
pub struct ChangedOrders {
    /// Its number.
    pub after: ChangeNumber,
    /// In ascending order of id.
    pub orders: Vec<ChangedOrder>,
}

/// The answer of a question under way; an error is shared by all that wait.
pub type FreshnessAnswer = Option<Result<FreshnessReport, Arc<StoreError>>>;

/// A question for the last changes, which many may wait for.
#[derive(Clone, Debug)]
pub enum Freshness {
    /// They are known at once.
    Known(FreshnessReport),
    /// They follow. A sender that is dropped could not ask the store.
    Awaited(watch::Receiver<FreshnessAnswer>),
}

impl Freshness {
    /// The answer, once it is there.
    pub async fn wait(self) -> Result<FreshnessReport, Arc<StoreError>> {
        match self {
            Freshness::Known(latest) => Ok(latest),
            Freshness::Awaited(mut answer) => {
                let found = answer.wait_for(Option::is_some).await;
                let found = found.ok().and_then(|found| found.clone());
                let lost = || StoreError::Engine { doing: "asked", source: "no answer".into() };
                found.unwrap_or_else(|| Err(Arc::new(lost())))
            }
        }
    }
}
