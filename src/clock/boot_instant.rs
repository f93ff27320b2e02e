//! Time since the machine booted, which goes on while the machine is suspended and
//! while no server runs.

use rustix::time::{ClockId, clock_gettime};
use std::ops::Add;
use std::time::Duration;

/// A boot of the machine: two processes of the same boot share its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// The random id that the kernel gave it.
    pub id: String,
    /// From the boot to the zero of [`Now::monotonic`](super::Now::monotonic).
    pub age_at_start: Duration,
}

/// `CLOCK_MONOTONIC` of Linux, which std reads, stops during suspend, so a client that waited by
/// the wall clock would be refused. That of macOS goes on.
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

    /// The time between an earlier instant and this one.
    pub fn since(self, earlier: BootInstant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// An instant before this one.
    #[cfg(test)]
    pub fn earlier(self, by: Duration) -> BootInstant {
        BootInstant(self.0 - by)
    }

    /// The boot with a clock that begins at this instant; `None` without Linux's `/proc`.
    pub fn boot(self) -> Option<Boot> {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let id = id.trim();
        (!id.is_empty()).then(|| Boot { id: id.to_string(), age_at_start: self.0 })
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
    fn it_is_the_uptime_which_counts_suspension() {
        let uptime = || {
            let text = std::fs::read_to_string("/proc/uptime").unwrap();
            let seconds: f64 = text.split(' ').next().unwrap().parse().unwrap();
            Duration::from_secs_f64(seconds)
        };
        // The kernel prints hundredths.
        let before = uptime();
        let boot = BootInstant::now().boot().unwrap();
        let after = uptime() + Duration::from_millis(10);
        assert!((before..=after).contains(&boot.age_at_start), "{before:?} {boot:?} {after:?}");
        assert_eq!(boot.id.len(), 36);
    }
}
