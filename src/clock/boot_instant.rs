//! Time since the boot of the machine, which also advances while the machine is suspended and while
//! no server runs.

use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::time::Duration;

/// A clock that also advances while the machine is suspended. Linux's `CLOCK_MONOTONIC`, which std
/// uses, stops during a suspension. With that clock, a window would end later by the wall clock
/// than `Retry-After` said, and a client that returned in time would be refused. The monotonic
/// clock of macOS does not stop.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// An instant of the clock that all processes of a boot share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(Duration);

impl BootInstant {
    /// The current instant.
    pub fn now() -> BootInstant {
        let time = clock_gettime(CLOCK);
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
        BootInstant(seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
    }

    /// The time since this instant.
    pub fn elapsed(self) -> Duration {
        BootInstant::now().since(self)
    }

    /// Returns the time from an earlier instant to this one.
    pub fn since(self, earlier: BootInstant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the instant this long before.
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
        // `/proc/uptime` is rounded down to 10 ms, so the second reading may be up to 10 ms too
        // low.
        let before = uptime();
        let now = BootInstant::now();
        let after = uptime() + Duration::from_millis(10);
        assert!((before..=after).contains(&now.0), "{before:?} {now:?} {after:?}");
    }
}
