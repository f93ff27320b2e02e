//! A point in time on one clock: wall time for windows, monotonic time for strikes and bans. It has
//! only eight bytes, because each account and each key has two timestamps.

use serde::{Deserialize, Serialize};
use std::ops::Add;
use std::time::Duration;

/// Nanoseconds since the clock's zero. In monotonic time, points before the start of the server, such
/// as the end of an earlier ban, are negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Creates a timestamp from nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Timestamp {
        Timestamp(nanos)
    }

    /// Returns the nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`, or zero if `earlier` is the later timestamp.
    pub fn saturating_duration_since(self, earlier: Timestamp) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    /// Converts this timestamp to a clock that is ahead by this many nanoseconds.
    pub fn shift(self, offset_nanos: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(offset_nanos))
    }
}

impl From<Duration> for Timestamp {
    fn from(since_start: Duration) -> Timestamp {
        Timestamp(i64::try_from(since_start.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        self.shift(Timestamp::from(duration).0)
    }
}
