//! The clocks as saved with the limits, and what they say of the time since.

use crate::clock::{Boot, Now};
use std::time::Duration;

/// All times at the same instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedClock {
    pub persistent_nanos: i64,
    pub wall_nanos: i64,
    /// The id of the boot, and nanoseconds since then; `None` if it was unknown.
    pub boot: Option<(String, i64)>,
}

impl SavedClock {
    /// The clocks at `now`, when persistent monotonic time is this.
    pub fn at(persistent_nanos: i64, now: Now, boot: Option<&Boot>) -> SavedClock {
        let boot = boot.map(|boot| (boot.id.clone(), since_boot(boot, now)));
        SavedClock { persistent_nanos, wall_nanos: nanos(now.wall), boot }
    }

    /// Persistent monotonic time at `now`, in this process: on the same boot it has
    /// followed the boot's clock, which nobody sets, and on another the wall clock.
    pub fn persistent_nanos_at(&self, now: Now, boot: Option<&Boot>) -> i64 {
        let elapsed = match (&self.boot, boot) {
            (Some((id, saved)), Some(boot)) if *id == boot.id => {
                since_boot(boot, now).saturating_sub(*saved)
            }
            _ => nanos(now.wall).saturating_sub(self.wall_nanos),
        };
        self.persistent_nanos.saturating_add(elapsed.max(0))
    }
}

fn since_boot(boot: &Boot, now: Now) -> i64 {
    nanos(boot.age_at_start.saturating_add(now.monotonic))
}

/// Nanoseconds, which last for 292 years.
pub fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
