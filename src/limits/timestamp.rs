//! A point in monotonic time, in eight bytes: every account and every key holds
//! two.

use serde::{Deserialize, Serialize};
use std::ops::Add;
use std::time::Duration;

/// Nanoseconds of monotonic time. Points before the server started, such as the
/// end of an earlier run's ban, are negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The timestamp of this many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Timestamp {
        Timestamp(nanos)
    }

    /// Its nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The time from `earlier` until this, or zero if this is not later.
    pub fn saturating_duration_since(self, earlier: Timestamp) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    /// This timestamp on a clock that is ahead by this many nanoseconds.
    pub fn shifted(self, offset_nanos: i64) -> Timestamp {
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
        self.shifted(Timestamp::from(duration).0)
    }
}
