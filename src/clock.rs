//! Provides clocks and points in time. Leases use monotonic time, and so do strikes and bans in
//! memory. Rate limit windows and stored times use wall time. Tests can set a [`ManualClock`].

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The time since an instant before the server started. This clock never goes back, and
    /// advances while the machine is suspended.
    pub monotonic: Duration,
    /// The time since the Unix epoch. The operator may set this clock to any value at any time.
    pub wall: Duration,
}

impl Now {
    pub fn after(self, elapsed: Duration) -> Now {
        Now {
            monotonic: self.monotonic.saturating_add(elapsed),
            wall: self.wall.saturating_add(elapsed),
        }
    }

    /// Returns the wall time in whole milliseconds, the unit of the times in a key's row.
    pub fn wall_ms(&self) -> i64 {
        i64::try_from(self.wall.as_millis()).unwrap_or(i64::MAX)
    }
}

pub trait Clock: Send + Sync {
    fn now(&self) -> Now;
}

#[derive(Debug)]
pub struct SystemClock {
    started: BootInstant,
}

impl SystemClock {
    /// Creates a clock whose monotonic time is zero now.
    pub fn start() -> SystemClock {
        SystemClock { started: BootInstant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now {
            monotonic: self.started.elapsed(),
            wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }
}

#[derive(Debug)]
pub struct ManualClock(Mutex<Now>);

impl ManualClock {
    /// Creates a clock with a monotonic time of 0. `wall` is the time since the Unix epoch.
    pub fn new(wall: Duration) -> ManualClock {
        ManualClock(Mutex::new(Now { monotonic: Duration::ZERO, wall }))
    }

    /// Returns the clock of a new process, with the same wall time and a monotonic time of 0.
    pub fn restarted(&self) -> ManualClock {
        ManualClock::new(self.now().wall)
    }

    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = now.after(by);
    }

    pub fn set_wall(&self, wall: Duration) {
        self.0.lock().wall = wall;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.0.lock()
    }
}

/// A clock that advances while the machine is suspended. `CLOCK_MONOTONIC` does so on macOS, but
/// not on Linux. If the clock stopped, a ban would last longer than `Retry-After` says.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// The time since the boot of the machine. All processes share this clock, which also advances
/// while the machine is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(Duration);

impl BootInstant {
    pub fn now() -> BootInstant {
        let time = clock_gettime(CLOCK);
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        BootInstant(seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
    }

    pub fn elapsed(self) -> Duration {
        BootInstant::now().since(self)
    }

    /// The time from `earlier` to this instant. Zero if this instant comes first.
    pub fn since(self, earlier: BootInstant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    #[cfg(test)]
    pub fn earlier(self, by: Duration) -> BootInstant {
        BootInstant(self.0 - by)
    }
}

impl Add<Duration> for BootInstant {
    type Output = BootInstant;

    fn add(self, duration: Duration) -> BootInstant {
        BootInstant(self.0.saturating_add(duration))
    }
}

/// A point in time, in nanoseconds since a clock's zero. On the monotonic clock, a point before the
/// server's start is negative. The type has only eight bytes, because each account has two
/// timestamps in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_nanos(nanos: i64) -> Timestamp {
        Timestamp(nanos)
    }

    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the time since `earlier`. Returns zero if `earlier` is the later timestamp, for
    /// example after the wall clock was set back.
    pub fn saturating_duration_since(self, earlier: Timestamp) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    /// Returns the same moment on a clock that is ahead by this many nanoseconds.
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_instant_equals_the_uptime_including_suspension() {
        let uptime = || {
            let text = std::fs::read_to_string("/proc/uptime").unwrap();
            let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
            Duration::from_secs_f64(seconds)
        };
        // Add 10 ms, because `/proc/uptime` is rounded down to a multiple of 10 ms.
        let before = uptime();
        let now = BootInstant::now();
        let after = uptime() + Duration::from_millis(10);
        assert!((before..=after).contains(&now.0), "{before:?} {now:?} {after:?}");
    }
}
