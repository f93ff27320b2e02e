//! A moment on the monotonic clock, in eight bytes: every account and every key
//! holds some of them.

use std::ops::Add;
use std::time::Duration;

/// Nanoseconds of monotonic time. Moments before the server started, such as the
/// end of a ban that an earlier run imposed, are negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment of this many nanoseconds.
    pub const fn of_nanoseconds(nanoseconds: i64) -> Timestamp {
        Timestamp(nanoseconds)
    }

    /// How many nanoseconds it is of.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// How long it is from `earlier` until this moment; nothing if it is past.
    pub fn since(self, earlier: Timestamp) -> Duration {
        let nanoseconds = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
    }
}

impl From<Duration> for Timestamp {
    fn from(monotonic: Duration) -> Timestamp {
        Timestamp(i64::try_from(monotonic.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(Timestamp::from(duration).0))
    }
}
