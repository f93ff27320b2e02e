//! Counts requests in the server's memory. With a store in PostgreSQL, the server uses this limiter
//! only for strikes, bans and requests without a valid key.

use super::addresses::{AddressKey, AddressTable, MAX_ADDRESSES};
use super::begun_bans::{BegunBans, NewBan};
use super::saved_windows::SavedWindows;
use super::strikes::{KeyBan, Strikes};
use super::window::AccountWindows;
use super::{Decision, KeyedRequest, RateLimitStatus, RateLimiter, log_ban};
use crate::clock::{Now, Timestamp};
use async_trait::async_trait;
use dashmap::DashMap;
use parking_lot::Mutex;
use slog::Logger;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A map from the row number of an account or key. Foldhash takes less than half the CPU
/// instructions of std's hasher. Clients cannot choose row numbers, so weak protection against
/// chosen collisions suffices.
type Rows<T> = DashMap<i64, T, foldhash::fast::RandomState>;

/// A rate limiter that decides on every request without waiting for I/O.
#[derive(Debug)]
pub struct InMemoryRateLimiter {
    accounts: Rows<AccountWindows>,
    accounts_changed: AtomicBool,
    /// Contains only keys that got a 429 or were banned.
    keys: Rows<Strikes>,
    addresses: Mutex<AddressTable>,
    unauthenticated_per_minute: u32,
    bans: BegunBans,
    log: Logger,
}

impl InMemoryRateLimiter {
    /// `unauthenticated_per_minute` is the limit per address for requests without a valid key.
    pub fn new(unauthenticated_per_minute: u32, log: Logger) -> InMemoryRateLimiter {
        InMemoryRateLimiter {
            accounts: Rows::default(),
            accounts_changed: AtomicBool::default(),
            keys: Rows::default(),
            addresses: Mutex::new(AddressTable::new(MAX_ADDRESSES)),
            unauthenticated_per_minute,
            bans: BegunBans::default(),
            log,
        }
    }

    /// True if an account's windows have changed since the previous call. A `saved_windows` after
    /// this call includes the changes.
    pub fn take_changed(&self) -> bool {
        self.accounts_changed.swap(false, Ordering::Acquire)
    }

    fn update_account<R>(&self, account: i64, update: impl FnOnce(&mut AccountWindows) -> R) -> R {
        let mut windows = self.accounts.entry(account).or_default();
        let before = *windows;
        let result = update(&mut windows);
        if *windows != before {
            // Set the flag while the lock is held. If it were set before, `take_changed` could
            // clear it and `saved_windows` could still miss the change.
            self.accounts_changed.store(true, Ordering::Release);
        }
        result
    }

    /// Returns the windows that are open at this wall time, for all accounts.
    pub fn saved_windows(&self, now: Timestamp) -> SavedWindows {
        let saved = self
            .accounts
            .iter()
            .filter_map(|windows| Some((*windows.key(), windows.to_saved(now)?)));
        SavedWindows { accounts: saved.collect() }
    }

    /// Adds the previous process's saved counts to this process's counts.
    pub fn restore(&self, saved: SavedWindows, now: Timestamp) {
        for (account, saved) in saved.accounts {
            self.update_account(account, |windows| *windows = windows.merge(saved, now));
        }
    }

    /// Removes accounts whose windows have both closed at this wall time.
    pub fn remove_closed_windows(&self, wall: Timestamp) {
        self.accounts.retain(|_, windows| windows.is_open(wall));
    }

    /// Removes keys whose strikes and bans no longer have an effect.
    pub fn remove_expired_strikes(&self, monotonic: Timestamp) {
        self.keys.retain(|_, strikes| strikes.is_relevant(monotonic));
    }

    /// Applies the stored ban, `request.ban`, if it is newer than the ban in memory. Returns a
    /// refusal if the key is banned. Ignores bans if one of the limits is zero, because the windows
    /// then refuse every request.
    pub(crate) fn apply_and_check_ban(&self, request: &KeyedRequest, now: Now) -> Option<Decision> {
        if request.has_zero_limit() {
            return None;
        }
        let mut strikes = match self.keys.get(&request.key) {
            Some(strikes) => *strikes,
            // Most keys have neither strikes nor a ban, so skip the checks below for these keys.
            None if request.ban == KeyBan::default() => return None,
            None => Strikes::default(),
        };
        if strikes.is_behind(request.ban) {
            let mut entry = self.keys.entry(request.key).or_default();
            entry.apply_stored_ban(request.ban, now);
            strikes = *entry;
        }
        let status = strikes.ban_at(now.monotonic.into(), request.limits.per_minute)?;
        Some(Decision::Banned { status, begins: false })
    }

    /// Counts a 429. It is a strike only if it comes later than the burst after the key's first 429
    /// of the minute. Returns the ban instead of `decision` if the key is then banned. Logs and
    /// records a new ban.
    ///
    /// Returns every other decision unchanged. Does the same with a 429 if a limit of the account
    /// is zero.
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
        let mut strikes = self.keys.entry(request.key).or_default();
        let before = strikes.ban;
        let status = strikes.strike(now, request.limits.per_minute);
        let ban = strikes.ban;
        drop(strikes);
        let new_ban = (ban != before).then_some(NewBan { key: request.key, ban });
        let Some(status) = status else { return decision };
        if let Some(new_ban) = new_ban {
            self.bans.begin(new_ban);
            log_ban(&self.log, request, key_id, status, now);
        }
        Decision::Banned { status, begins: new_ban.is_some() }
    }
}

#[async_trait]
impl RateLimiter for InMemoryRateLimiter {
    /// Does not await between the decision and the log line of a new ban. So the ban is logged even
    /// if the caller drops the future.
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        _: Instant,
    ) -> Decision {
        if let Some(refusal) = self.apply_and_check_ban(&request, now) {
            return refusal;
        }
        let KeyedRequest { account, limits, .. } = request;
        let admit = |windows: &mut AccountWindows| windows.admit(now.wall.into(), limits);
        let decision = self.update_account(account, admit);
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
