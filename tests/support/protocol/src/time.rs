//! The clock of the search: an instant is how many ticks after now it is.

use crate::agreement::lease::LEASE;
use std::ops::Add;
use std::time::Duration;

/// Two ticks are a lease.
const TICK: Duration = LEASE.checked_div(2).unwrap();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(i8);

pub const NOW: Tick = Tick(0);
/// A lease of then is over.
pub const EXPIRED: Tick = Tick(-2);
/// Whatever was longer ago is all the same.
pub const LONG_AGO: Tick = Tick(-3);

impl Tick {
    /// The same instant a tick later.
    pub fn aged(self) -> Tick {
        Tick(self.0 - 1).max(LONG_AGO)
    }

    /// Whether it is longer ago than a lease takes.
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
