//! Formats times for the output of commands.

use crate::clock::Now;
use chrono::{DateTime, SecondsFormat, Utc};
use std::time::Duration;

/// Formats Unix milliseconds as RFC 3339 in UTC, to the second. If chrono cannot represent the
/// time, returns the milliseconds as a number.
pub fn rfc3339(ms: i64) -> String {
    DateTime::<Utc>::from_timestamp_millis(ms)
        .map_or_else(|| ms.to_string(), |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// Formats the time that is `duration` after `now`, rounded up to the second.
pub fn rfc3339_after(now: Now, duration: Duration) -> String {
    let end = now.wall.saturating_add(duration);
    let seconds = end.as_secs().saturating_add(u64::from(end.subsec_nanos() > 0));
    rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000))
}
