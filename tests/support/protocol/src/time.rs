//! The clock of the search: an instant is its distance from now in ticks.

use crate::agreement::lease::LEASE;
use std::ops::Add;
use std::time::Duration;

/// Half a lease.
const TICK: Duration = LEASE.checked_div(2).unwrap();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(i8);

pub const NOW: Tick = Tick(0);
/// A lease that was renewed at this instant has expired.
pub const EXPIRED: Tick = Tick(-2);
/// The oldest instant: all earlier ones are treated as this one.
pub const LONG_AGO: Tick = Tick(-3);

impl Tick {
    /// The same instant, seen one tick later.
    pub fn older(self) -> Tick {
        Tick(self.0 - 1).max(LONG_AGO)
    }

    /// True if the instant is more than a lease ago.
    pub fn is_long_ago(self) -> bool {
        self + LEASE < NOW
    }
}

impl Add<Duration> for Tick {
    type Output = Tick;

    fn add(self, duration: Duration) -> Tick {
        Tick(self.0 + (duration.as_millis() / TICK.as_millis()) as i8)
    }
}
