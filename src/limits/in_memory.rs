//! The limits of one server, counted in its memory.

use super::addresses::{AddressKey, Addresses, MOST_ADDRESSES};
use super::strikes::Strikes;
use super::table::{Change, Table};
use super::timestamp::Timestamp;
use super::window::AccountWindows;
use super::{Decision, KeyedRequest, Limits};
use crate::clock::Now;
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts in memory, without waiting for anything but other counting.
#[derive(Debug)]
pub struct InMemoryLimits {
    accounts: Table<AccountWindows>,
    /// Only keys that were ever refused have an entry.
    keys: Table<Strikes>,
    addresses: Mutex<Addresses>,
    keyless_per_minute: u32,
    bans: AtomicU64,
}

/// Windows by account and strikes by key, to be recorded or restored. Their
/// moments are of the monotonic clock that the limits count with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The windows of accounts.
    pub accounts: Vec<Change<AccountWindows>>,
    /// The strikes and bans of keys.
    pub keys: Vec<Change<Strikes>>,
}

impl Counts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.keys.is_empty()
    }
}

impl InMemoryLimits {
    /// Nothing counted yet. Callers without a valid key may send this many
    /// requests a minute from one address.
    pub fn new(keyless_per_minute: u32) -> InMemoryLimits {
        InMemoryLimits {
            accounts: Table::new(),
            keys: Table::new(),
            addresses: Mutex::new(Addresses::bounded(MOST_ADDRESSES)),
            keyless_per_minute,
            bans: AtomicU64::new(0),
        }
    }

    /// What has changed since the last call of this or of [`InMemoryLimits::all`].
    pub fn changes(&self) -> Counts {
        Counts { accounts: self.accounts.changes(), keys: self.keys.changes() }
    }

    /// Everything that is counted.
    pub fn all(&self) -> Counts {
        Counts { accounts: self.accounts.all(), keys: self.keys.all() }
    }

    /// Takes over what an earlier run counted. Whatever the moments say, no
    /// window and no ban is open at `now` for longer than it lasts.
    pub fn restore(&self, counts: Counts, now: Timestamp) {
        for (account, windows) in counts.accounts {
            self.accounts.restore(account, windows.unwrap_or_default().carried(now));
        }
        for (key, strikes) in counts.keys {
            self.keys.restore(key, strikes.unwrap_or_default().carried(now));
        }
    }

    /// Forgets accounts whose windows have closed, and keys whose bans are
    /// forgiven: they count as new ones would.
    pub fn forget(&self, now: Timestamp) {
        self.accounts.retain(|windows| windows.is_open(now));
        self.keys.retain(|strikes| strikes.matters(now));
    }

    fn admit_now(&self, request: KeyedRequest, now: Timestamp) -> Decision {
        let KeyedRequest { account, key, limits } = request;
        // A limit of 0 is a decision of the operator, not a fault of the client.
        let shut = limits.per_minute == 0 || limits.per_day == 0;
        if !shut
            && let Some(strikes) = self.keys.get(key)
            && let Some(ban) = strikes.ban_at(now, limits.per_minute)
        {
            return Decision::Banned(ban);
        }
        let verdict = self.accounts.change(account, |windows| windows.admit(now, limits));
        if shut || !matches!(verdict, Decision::Limited(..)) {
            return verdict;
        }
        let ban = self.keys.change(key, |strikes| {
            let last = strikes.banned_until;
            let ban = strikes.strike(now, limits.per_minute);
            if ban.is_some() && strikes.banned_until != last {
                self.bans.fetch_add(1, Ordering::Relaxed);
            }
            ban
        });
        ban.map_or(verdict, Decision::Banned)
    }
}

#[async_trait]
impl Limits for InMemoryLimits {
    async fn admit(&self, request: KeyedRequest, now: Now) -> Decision {
        self.admit_now(request, Timestamp::from(now.monotonic))
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).admit(
            AddressKey::from(address),
            Timestamp::from(now.monotonic),
            self.keyless_per_minute,
        )
    }

    fn bans(&self) -> u64 {
        self.bans.load(Ordering::Relaxed)
    }
}
