//! The clock of the model. An instant is stored as its distance from now, in ticks.

use crate::agreement::lease::LEASE;
use std::ops::Add;
use std::time::Duration;

/// The time step of the model. The model needs only leases that are new, half over or expired, so
/// half a lease is enough.
const TICK: Duration = LEASE.checked_div(2).unwrap();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(i8);

pub const NOW: Tick = Tick(0);
/// A lease that was last renewed at this instant has expired at [`NOW`].
pub const EXPIRED: Tick = Tick(-2);
/// The oldest instant. All earlier instants are treated as this one.
pub const LONG_AGO: Tick = Tick(-3);

impl Tick {
    /// Returns this instant as seen one tick later.
    pub fn older(self) -> Tick {
        Tick(self.0 - 1).max(LONG_AGO)
    }

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
