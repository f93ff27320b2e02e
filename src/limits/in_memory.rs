//! A rate limiter in the memory of one server.

use super::addresses::{AddressKey, AddressTable, MAX_ADDRESSES};
use super::begun_bans::{BegunBans, NewBan};
use super::sharded_map::ShardedMap;
use super::snapshot::LimitsSnapshot;
use super::strikes::Strikes;
use super::timestamp::Timestamp;
use super::window::AccountWindows;
use super::{Decision, KeyedRequest, Limits, RateLimitStatus, log_ban};
use crate::clock::Now;
use async_trait::async_trait;
use parking_lot::Mutex;
use slog::Logger;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

/// Counts requests in memory. No decision waits for I/O.
#[derive(Debug)]
pub struct InMemoryLimits {
    accounts: ShardedMap<AccountWindows>,
    /// Contains only keys that got a 429 or were banned.
    keys: ShardedMap<Strikes>,
    addresses: Mutex<AddressTable>,
    unauthenticated_per_minute: u32,
    bans: BegunBans,
    log: Logger,
}

impl InMemoryLimits {
    /// Creates a limiter without counts. `unauthenticated_per_minute` is the limit per address for
    /// requests without a valid key. Bans are logged to `log`.
    pub fn new(unauthenticated_per_minute: u32, log: Logger) -> InMemoryLimits {
        InMemoryLimits {
            accounts: ShardedMap::new(),
            keys: ShardedMap::new(),
            addresses: Mutex::new(AddressTable::new(MAX_ADDRESSES)),
            unauthenticated_per_minute,
            bans: BegunBans::default(),
            log,
        }
    }

    /// Returns true if the windows of accounts have changed since the last call.
    pub fn take_changed(&self) -> bool {
        self.accounts.take_changed()
    }

    /// Returns the windows of all accounts that are open at this wall time.
    pub fn snapshot(&self, now: Timestamp) -> LimitsSnapshot {
        LimitsSnapshot { accounts: self.accounts.filter_map(|windows| windows.to_saved(now)) }
    }

    /// Adds the counts of an earlier run to the counts since the start.
    pub fn restore(&self, snapshot: LimitsSnapshot, now: Timestamp) {
        for (account, saved) in snapshot.accounts {
            self.accounts.update(account, |windows| *windows = windows.merge(saved, now));
        }
    }

    /// Removes accounts whose windows have closed at this wall time.
    pub fn remove_closed_windows(&self, wall: Timestamp) {
        self.accounts.retain(|windows| windows.is_open(wall));
    }

    /// Removes keys whose strikes and bans have no effect any more at this monotonic time.
    pub fn remove_expired_strikes(&self, monotonic: Timestamp) {
        self.keys.retain(|strikes| strikes.is_relevant(monotonic));
    }

    /// Returns a refusal if the key is banned. First applies the ban in the key's row, if that ban
    /// is newer than the one in memory.
    pub(crate) fn refuse_banned(&self, request: &KeyedRequest, now: Now) -> Option<Decision> {
        if request.has_zero_limit() {
            return None;
        }
        let mut strikes = self.keys.get(request.key).unwrap_or_default();
        if strikes.is_behind(request.ban) {
            strikes = self.keys.update(request.key, |strikes| {
                strikes.apply_stored_ban(request.ban, now);
                *strikes
            });
        }
        let status = strikes.ban_at(now.monotonic.into(), request.limits.per_minute)?;
        Some(Decision::Banned { status, begins: false })
    }

    /// Counts a strike if a window refuses the request. Returns the decision, or the ban if the key
    /// is now banned. Logs and records a new ban.
    pub(crate) fn strike(
        &self,
        request: &KeyedRequest,
        key_id: &str,
        decision: Decision,
        now: Now,
    ) -> Decision {
        if request.has_zero_limit() || !matches!(decision, Decision::Limited(..)) {
            return decision;
        }
        let (status, new_ban) = self.keys.update(request.key, |strikes| {
            let before = strikes.ban;
            let status = strikes.strike(now, request.limits.per_minute);
            let ban = strikes.ban;
            (status, (ban != before).then_some(NewBan { key: request.key, ban }))
        });
        let Some(status) = status else { return decision };
        if let Some(new_ban) = new_ban {
            self.bans.begin(new_ban);
            log_ban(&self.log, request, key_id, status, now);
        }
        Decision::Banned { status, begins: new_ban.is_some() }
    }
}

#[async_trait]
impl Limits for InMemoryLimits {
    /// Does not await between the decision and the log, so that a ban is also logged if the caller
    /// drops the future.
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        _: Instant,
    ) -> Decision {
        if let Some(refusal) = self.refuse_banned(&request, now) {
            return refusal;
        }
        let KeyedRequest { account, limits, .. } = request;
        let admit = |windows: &mut AccountWindows| windows.admit(now.wall.into(), limits);
        let decision = self.accounts.update(account, admit);
        self.strike(&request, key_id, decision, now)
    }

    async fn admit_unauthenticated(&self, address: IpAddr, now: Now) -> Decision {
        let (address, now) = (AddressKey::from(address), Timestamp::from(now.wall));
        self.addresses.lock().admit(address, now, self.unauthenticated_per_minute)
    }

    fn unauthenticated_status(&self, address: IpAddr, now: Now) -> RateLimitStatus {
        let (address, now) = (AddressKey::from(address), Timestamp::from(now.wall));
        self.addresses.lock().status(address, now, self.unauthenticated_per_minute)
    }

    fn bans(&self) -> &BegunBans {
        &self.bans
    }
}
