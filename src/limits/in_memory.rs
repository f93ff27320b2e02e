//! The rate limiter of one server, in its memory.

use super::addresses::{AddressKey, AddressTable, MAX_ADDRESSES};
use super::sharded_map::ShardedMap;
use super::snapshot::LimitsSnapshot;
use super::strikes::Strikes;
use super::timestamp::Timestamp;
use super::window::AccountWindows;
use super::{Decision, KeyedRequest, Limits, log_ban};
use crate::clock::Now;
use crate::counter::Counter;
use async_trait::async_trait;
use parking_lot::Mutex;
use slog::Logger;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// Counts in memory; no decision waits for I/O.
#[derive(Debug)]
pub struct InMemoryLimits {
    accounts: ShardedMap<AccountWindows>,
    /// Only keys that ever got a 429 have an entry.
    keys: ShardedMap<Strikes>,
    addresses: Mutex<AddressTable>,
    keyless_per_minute: u32,
    bans: Counter,
    log: Logger,
}

impl InMemoryLimits {
    /// Nothing counted yet. Without a valid key, an address may send this many
    /// requests a minute. Bans are logged here.
    pub fn new(keyless_per_minute: u32, log: Logger) -> InMemoryLimits {
        InMemoryLimits {
            accounts: ShardedMap::new(),
            keys: ShardedMap::new(),
            addresses: Mutex::new(AddressTable::new(MAX_ADDRESSES)),
            keyless_per_minute,
            bans: Counter::default(),
            log,
        }
    }

    /// Whether anything has changed since the last call.
    pub fn take_changed(&self) -> bool {
        // Both are asked, whatever the first says.
        self.accounts.take_changed() | self.keys.take_changed()
    }

    /// The windows that are open, and the strikes and bans that matter.
    pub fn snapshot(&self, now: Timestamp) -> LimitsSnapshot {
        let accounts = self.accounts.filter_map(|windows| windows.saved(now));
        let keys = self.keys.filter_map(|strikes| strikes.is_relevant(now).then_some(strikes));
        LimitsSnapshot { accounts, keys }
    }

    /// Restores what an earlier run counted, and adds it to what this one has
    /// counted since.
    pub fn restore(&self, snapshot: LimitsSnapshot, now: Timestamp) {
        for (account, saved) in snapshot.accounts {
            self.accounts.update(account, |windows| *windows = windows.merged(saved, now));
        }
        for (key, saved) in snapshot.keys {
            self.keys.update(key, |strikes| *strikes = strikes.merged(saved, now));
        }
    }

    /// Removes accounts whose windows have closed, and keys whose bans are
    /// forgiven.
    pub fn remove_expired(&self, now: Timestamp) {
        self.accounts.retain(|windows| windows.is_open(now));
        self.keys.retain(|strikes| strikes.is_relevant(now));
    }

    fn decide(&self, request: KeyedRequest, now: Timestamp) -> Decision {
        let KeyedRequest { account, key, limits, unbanned_at_ms } = request;
        let is_shut = request.is_shut();
        if !is_shut
            && let Some(strikes) = self.keys.get(key)
            && let Some(status) = strikes.ban_at(now, limits.per_minute, unbanned_at_ms)
        {
            return Decision::Banned { status, begins: false };
        }
        let decision = self.accounts.update(account, |windows| windows.admit(now, limits));
        if is_shut || !matches!(decision, Decision::Limited(..)) {
            return decision;
        }
        self.keys.update(key, |strikes| {
            let before = strikes.banned_until;
            let Some(status) = strikes.strike(now, limits.per_minute, unbanned_at_ms) else {
                return decision;
            };
            let begins = strikes.banned_until != before;
            if begins {
                self.bans.inc();
            }
            Decision::Banned { status, begins }
        })
    }
}

#[async_trait]
impl Limits for InMemoryLimits {
    /// Nothing is awaited between the decision and the log, so that a request that is given up
    /// meanwhile is logged too.
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        _: Instant,
    ) -> Decision {
        let decision = self.decide(request, Timestamp::from(now.monotonic));
        if let Decision::Banned { status, begins: true } = decision {
            log_ban(&self.log, &request, key_id, status, now);
        }
        decision
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        let (address, now) = (AddressKey::from(address), Timestamp::from(now.monotonic));
        self.addresses.lock().admit(address, now, self.keyless_per_minute)
    }

    fn bans(&self) -> &Counter {
        &self.bans
    }
}
