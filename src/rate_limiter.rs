//! The rate limiter. It counts the requests of each account per minute and per day, refuses those
//! above the account's limits, and bans keys that keep sending after a 429. It does not access the
//! store, so callers pass the account's id, the key's row number and the limits.
//!
//! Callers rely on its numbers: a plan of 60 requests per minute admits exactly 60, however many
//! arrive together, and a client that waits for `Retry-After` gets in. An orderly restart must not
//! give an account a second quota.
//!
//! The obvious solution is two counters for each account, which a timer clears every minute and
//! every day. But two concurrent requests can both read 59 and both write 60, so 61 are admitted.
//! If the minute is counted before the day is found to be exhausted, a refused request uses up part
//! of the minute. And after a restart, the day begins again.
//!
//! So a window is only an end and a number of requests (`FixedWindow`). The first counted request
//! opens the window by setting its end. Once the end has passed, the window is empty, so no timer
//! has to clear it, and only these two values must be saved. One function without I/O,
//! `AccountWindows::admit`, checks both windows of an account and, if both have room, counts the
//! request in both. [`InMemoryRateLimiter`] calls `admit` while the account's windows are locked.
//! Servers that share a store count in PostgreSQL, by the same rules.
//!
//! What is always true:
//!
//! - An admitted request counts in both windows. A request that gets a 429 counts in neither.
//! - Windows use the wall clock, because it continues while no server runs. If the clock was set
//!   back, a window's end may be further away than the window is long. The account's next request
//!   then moves the end to one window length from now (`FixedWindow::remaining`), so that nobody is
//!   locked out for longer than that. The window keeps its count. Setting the clock forward closes
//!   windows early.
//! - Windows belong to the account, so another key gives no further quota. Strikes and bans belong
//!   to the key.
//! - A key's first 429 begins a minute of its own, independent of the windows. Later 429s in that
//!   minute are strikes. A 429 in its first two seconds is not a strike, because the client may
//!   have sent the request before it read the first 429. If the strikes reach the account's limit
//!   per minute, the key is banned for 300 s. Each further ban lasts twice as long as the one
//!   before, at most an hour. After 24 hours without a ban, the next one lasts 300 s again
//!   (`Strikes::strike`).
//! - A ban is checked before the windows, so requests during a ban add no strikes and do not
//!   lengthen the ban. The server hands each ban on, to be written to the key's row
//!   ([`BegunBans`]), where other servers find it as they find a revocation. [`KeyBan::number`]
//!   rises with each ban and each `keys unban`, so a server can tell which of them is the latest.
//!
//! What happens when something fails:
//!
//! - The server is killed: it loses the counts since the last complete write of `limits.snapshot`
//!   began, usually those of less than a second. A thread writes the file half a second after the
//!   previous write ([`CountsFile`]). All strikes are lost too, and the bans that were not in the
//!   store yet. An orderly stop saves counts and bans a last time, but no strikes.
//! - The disk is full or hangs: counting continues in memory, and the log warns that a restart
//!   would lose the counts.
//! - The file cannot be read at the start: the server starts with empty windows. Once it can read
//!   the file, it adds the saved requests to what it has counted since (`FixedWindow::merge`). A
//!   damaged file, or one of another store, is renamed, and windows start at zero.
//!
//! Windows once used the time since boot, which nobody can set. To save such windows, the server
//! needed the boot's id, the age of the file and the drift between two clocks.

mod account_usage;
mod addresses;
mod begun_bans;
mod in_memory;
mod persistence;
mod saved_windows;
mod strikes;
mod window;

pub use account_usage::{AccountUsage, CountsReport, ReportError, WindowUsage};
pub use addresses::{AddressKey, MAX_ADDRESSES};
pub use begun_bans::{BegunBans, NewBan};
pub use in_memory::InMemoryRateLimiter;
pub use persistence::{
    CountsFile, CountsFileReport, CountsPersister, FILE_NAME as COUNTS_FILE_NAME,
    check as check_counts_file,
};
pub use strikes::KeyBan;
pub(crate) use window::{AccountWindows, FixedWindow};

use crate::clock::Now;
use async_trait::async_trait;
use slog::{Logger, warn};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use store_orders_api::limit_constants::{DAY_SECONDS, MINUTE_SECONDS};
use store_orders_api::plans::PlanLimits;

#[derive(Clone, Copy, Debug)]
pub struct KeyedRequest {
    /// The account's id. Windows are per account.
    pub account: i64,
    /// The id of the key's row in the store. Strikes and bans are per key.
    pub key: i64,
    pub limits: PlanLimits,
    /// The key's latest ban, as read from its row in the store.
    pub ban: KeyBan,
}

impl KeyedRequest {
    /// True if one of the account's limits is 0, so that every request is refused. The refusals are
    /// not strikes, because the operator chose the limit.
    pub(crate) fn has_zero_limit(&self) -> bool {
        self.limits.per_minute == 0 || self.limits.per_day == 0
    }
}

/// One of the two windows of an account: 60 or 86,400 seconds from the first counted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    Minute,
    Day,
}

impl Window {
    pub const fn length(self) -> Duration {
        match self {
            Window::Minute => Duration::from_secs(MINUTE_SECONDS as u64),
            Window::Day => Duration::from_secs(DAY_SECONDS as u64),
        }
    }

    /// Returns the window's name in messages ("60 requests a minute") and in metric labels.
    pub const fn unit(self) -> &'static str {
        match self {
            Window::Minute => "minute",
            Window::Day => "day",
        }
    }
}

/// The values of the rate limit headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    /// `X-RateLimit-Limit`.
    pub limit: u32,
    /// `X-RateLimit-Remaining`.
    pub remaining: u32,
    /// The time until the moment that `X-RateLimit-Reset` names.
    pub resets_in: Duration,
}

impl RateLimitStatus {
    /// Returns the value of `X-RateLimit-Reset` in Unix seconds, rounded up.
    pub fn reset_at(&self, now: Now) -> u64 {
        seconds_rounded_up(now.wall.saturating_add(self.resets_in))
    }

    /// `Retry-After`: seconds, rounded up, at least 1.
    pub fn retry_after(&self) -> u64 {
        seconds_rounded_up(self.resets_in).max(1)
    }
}

fn seconds_rounded_up(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Admitted(RateLimitStatus),
    /// 429 `rate_limit_exceeded`: the account or address has used up the given [`Window`].
    Limited(RateLimitStatus, Window),
    Banned {
        /// The status for the headers. During a ban, `resets_in` is the time until the ban ends.
        status: RateLimitStatus,
        begins: bool,
    },
    /// 503 `service_unavailable`: the counts are unavailable, so the request was not counted. The
    /// headers show the limit per minute and 0 remaining requests. `X-RateLimit-Reset` and
    /// `Retry-After` name the same time.
    Unavailable(RateLimitStatus),
}

impl Decision {
    pub(crate) fn admits(&self) -> bool {
        matches!(self, Decision::Admitted(_))
    }

    pub fn status(&self) -> RateLimitStatus {
        match self {
            Decision::Admitted(status)
            | Decision::Limited(status, _)
            | Decision::Unavailable(status)
            | Decision::Banned { status, .. } => *status,
        }
    }
}

/// Enforces the limits. The counts are in memory if the store is embedded, and otherwise in
/// PostgreSQL.
#[async_trait]
pub trait RateLimiter: Send + Sync {
    /// Atomically counts a request with a valid key in both windows of its account, or rejects the
    /// request. A rejected request may count as a strike and begin a ban. A new ban is logged.
    /// Returns [`Decision::Unavailable`] if no decision is made by the deadline.
    async fn admit(
        &self,
        request: KeyedRequest,
        key_id: &Arc<str>,
        now: Now,
        deadline: Instant,
    ) -> Decision;

    /// Admits or rejects a request that has no valid key. Counts an admitted request against the
    /// limit of the client's IP address.
    async fn admit_unauthenticated(&self, address: IpAddr, now: Now) -> Decision;

    /// Returns the rate limit status of an address, for the headers of a response to an uncounted
    /// request.
    fn unauthenticated_status(&self, address: IpAddr, now: Now) -> RateLimitStatus;

    fn bans(&self) -> &BegunBans;

    /// Returns why the limiter currently refuses requests without counting them. Returns `None` if
    /// requests can be counted.
    fn unavailable_because(&self) -> Option<String> {
        None
    }
}

fn log_ban(log: &Logger, request: &KeyedRequest, key_id: &str, status: RateLimitStatus, now: Now) {
    let until = UNIX_EPOCH.checked_add(now.wall.saturating_add(status.resets_in));
    let until = humantime::format_rfc3339_seconds(until.unwrap_or(UNIX_EPOCH)).to_string();
    warn!(log, "key banned"; "key_id" => key_id, "account" => request.account,
        "seconds" => status.resets_in.as_secs(), "until" => until);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_up() {
        for (millis, seconds) in [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(seconds_rounded_up(Duration::from_millis(millis)), seconds, "{millis} ms");
        }
    }

    #[test]
    fn windows_are_named_by_their_unit() {
        assert_eq!([Window::Minute, Window::Day].map(Window::unit), ["minute", "day"]);
    }
}
