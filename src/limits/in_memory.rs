//! The limits of one server, counted in its memory.

use super::addresses::{AddressKey, Addresses, MOST_ADDRESSES};
use super::strikes::Strikes;
use super::window::AccountWindows;
use super::{KeyedRequest, Limits, Verdict};
use crate::clock::Now;
use async_trait::async_trait;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Accounts and keys are spread over this many locks, so that requests of
/// different accounts seldom meet.
const SHARDS: usize = 64;

/// Counts in memory. Every lock is held for one look-up and a few additions.
#[derive(Debug)]
pub struct InMemoryLimits {
    accounts: Vec<Mutex<HashMap<i64, AccountWindows>>>,
    /// Only keys that were ever refused have an entry.
    keys: Vec<Mutex<HashMap<i64, Strikes>>>,
    addresses: Mutex<Addresses>,
    keyless_per_minute: u32,
}

impl InMemoryLimits {
    /// Nothing counted yet. Callers without a valid key may send this many
    /// requests a minute from one address.
    pub fn new(keyless_per_minute: u32) -> InMemoryLimits {
        InMemoryLimits {
            accounts: (0..SHARDS).map(|_| Mutex::default()).collect(),
            keys: (0..SHARDS).map(|_| Mutex::default()).collect(),
            addresses: Mutex::new(Addresses::bounded(MOST_ADDRESSES)),
            keyless_per_minute,
        }
    }

    fn admit_now(&self, request: KeyedRequest, now: Now) -> Verdict {
        let KeyedRequest { account, key, limits } = request;
        let now = now.monotonic;
        if let Some(strikes) = shard(&self.keys, key).get(&key)
            && let Some(figures) = strikes.ban_at(now, limits.per_minute)
        {
            return Verdict::Banned(figures);
        }
        let verdict = shard(&self.accounts, account).entry(account).or_default().admit(now, limits);
        let limited = matches!(verdict, Verdict::Limited(..));
        // A limit of 0 is a decision of the operator, not a fault of the client.
        if limited && limits.per_minute > 0 && limits.per_day > 0 {
            let banned =
                shard(&self.keys, key).entry(key).or_default().strike(now, limits.per_minute);
            return banned.map_or(verdict, Verdict::Banned);
        }
        verdict
    }
}

#[async_trait]
impl Limits for InMemoryLimits {
    async fn admit(&self, request: KeyedRequest, now: Now) -> Verdict {
        self.admit_now(request, now)
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Verdict {
        unpoisoned(&self.addresses).admit(
            AddressKey::from(address),
            now.monotonic,
            self.keyless_per_minute,
        )
    }
}

/// The shard of a row number. Rows are numbered one after the other, so the
/// remainder spreads them evenly.
fn shard<T>(shards: &[Mutex<T>], row: i64) -> MutexGuard<'_, T> {
    let index = row.unsigned_abs() as usize % shards.len();
    #[expect(clippy::indexing_slicing, reason = "a remainder of the length is within it")]
    unpoisoned(&shards[index])
}

/// Counts are plain numbers, whole after every step: a panic elsewhere does not
/// spoil them.
fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
