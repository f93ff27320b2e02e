//! The rate limiter of one server, in its memory.

use super::addresses::{AddressKey, AddressTable, MAX_ADDRESSES};
use super::begun_bans::{BegunBans, NewBan};
use super::sharded_map::ShardedMap;
use super::snapshot::LimitsSnapshot;
use super::strikes::Strikes;
use super::timestamp::Timestamp;
use super::window::AccountWindows;
use super::{Decision, KeyedRequest, Limits, log_ban};
use crate::clock::Now;
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
    /// Only keys that got a 429, or were banned, have an entry.
    keys: ShardedMap<Strikes>,
    addresses: Mutex<AddressTable>,
    keyless_per_minute: u32,
    bans: BegunBans,
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
            bans: BegunBans::default(),
            log,
        }
    }

    /// Whether the windows have changed since the last call.
    pub fn take_changed(&self) -> bool {
        self.accounts.take_changed()
    }

    /// The windows that are open.
    pub fn snapshot(&self, now: Timestamp) -> LimitsSnapshot {
        LimitsSnapshot { accounts: self.accounts.filter_map(|windows| windows.saved(now)) }
    }

    /// Restores what an earlier run counted, and adds it to what this one has
    /// counted since.
    pub fn restore(&self, snapshot: LimitsSnapshot, now: Timestamp) {
        for (account, saved) in snapshot.accounts {
            self.accounts.update(account, |windows| *windows = windows.merged(saved, now));
        }
    }

    /// Removes accounts whose windows have closed, and keys whose bans are
    /// forgiven.
    pub fn remove_expired(&self, now: Timestamp) {
        self.accounts.retain(|windows| windows.is_open(now));
        self.keys.retain(|strikes| strikes.is_relevant(now));
    }

    /// The decision on a request whose key is banned.
    pub(crate) fn banned(&self, request: &KeyedRequest, now: Now) -> Option<Decision> {
        if request.is_shut() {
            return None;
        }
        let mut strikes = self.keys.get(request.key).unwrap_or_default();
        if strikes.lacks(request.ban) {
            strikes = self.keys.update(request.key, |strikes| {
                strikes.follow(request.ban, now);
                *strikes
            });
        }
        let status = strikes.ban_at(now.monotonic.into(), request.limits.per_minute)?;
        Some(Decision::Banned { status, begins: false })
    }

    /// Counts a strike if the request is refused by a window. Returns the decision, or the ban if
    /// the key is banned by now. A ban that begins is logged, and passed on to be stored.
    pub(crate) fn strike(
        &self,
        request: &KeyedRequest,
        key_id: &str,
        decision: Decision,
        now: Now,
    ) -> Decision {
        if request.is_shut() || !matches!(decision, Decision::Limited(..)) {
            return decision;
        }
        let (status, begun) = self.keys.update(request.key, |strikes| {
            let before = strikes.ban;
            let status = strikes.strike(now, request.limits.per_minute);
            let ban = strikes.ban;
            (status, (ban != before).then_some(NewBan { key: request.key, ban }))
        });
        let Some(status) = status else { return decision };
        if let Some(begun) = begun {
            self.bans.begin(begun);
            log_ban(&self.log, request, key_id, status, now);
        }
        Decision::Banned { status, begins: begun.is_some() }
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
        if let Some(banned) = self.banned(&request, now) {
            return banned;
        }
        let KeyedRequest { account, limits, .. } = request;
        let admit = |windows: &mut AccountWindows| windows.admit(now.monotonic.into(), limits);
        let decision = self.accounts.update(account, admit);
        self.strike(&request, key_id, decision, now)
    }

    async fn admit_keyless(&self, address: IpAddr, now: Now) -> Decision {
        let (address, now) = (AddressKey::from(address), Timestamp::from(now.monotonic));
        self.addresses.lock().admit(address, now, self.keyless_per_minute)
    }

    fn bans(&self) -> &BegunBans {
        &self.bans
    }
}
