//! Asking a store how far it is.

pub use super::agreement::versions::{HalfVersion, Versions};

use super::error::StoreError;
use super::order_rows::ChangedOrder;
use crate::clock::BootInstant;
use sha2::{Digest, Sha256};
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

/// A half of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Orders.
    Orders,
    /// Accounts and keys.
    Keys,
}

/// The versions, and how old that news may be.
#[derive(Clone, Copy, Debug)]
pub struct PolledVersions {
    /// The versions.
    pub versions: Versions,
    /// Every change that was acknowledged before this is in them.
    pub as_of: BootInstant,
}

/// The answer to a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The versions, with every change that was committed before the check was asked for.
    pub versions: Versions,
    /// What changed before them, if the check told it.
    pub changes: Option<Arc<ChangedOrders>>,
}

/// All orders that changed after a version.
#[derive(Debug)]
pub struct ChangedOrders {
    /// That version.
    pub after: HalfVersion,
    /// In ascending order of id.
    pub orders: Vec<ChangedOrder>,
}

/// What a check that is under way will tell; an error is shared by all that wait.
pub type CheckAnswer = Option<Result<Checked, Arc<StoreError>>>;

/// A check of the versions, which many may wait for.
#[derive(Clone, Debug)]
pub enum VersionCheck {
    /// They are known at once.
    Known(Versions),
    /// They follow. A sender that is dropped could not ask the store.
    Awaited(watch::Receiver<CheckAnswer>),
}

impl VersionCheck {
    /// The answer, once it is there.
    pub async fn wait(self) -> Result<Checked, Arc<StoreError>> {
        match self {
            VersionCheck::Known(versions) => Ok(Checked { versions, changes: None }),
            VersionCheck::Awaited(mut answer) => {
                let found = answer.wait_for(Option::is_some).await;
                let found = found.ok().and_then(|found| found.clone());
                let lost = || StoreError::Engine { doing: "asked", source: "no answer".into() };
                found.unwrap_or_else(|| Err(Arc::new(lost())))
            }
        }
    }
}
