//! The clock: monotonic time for windows and bans, wall time for output and the store. Tests can
//! replace it by a clock that they move.

mod boot_instant;

pub use boot_instant::{Boot, BootInstant};

use parking_lot::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The time since an instant before the server started. It never goes back, and it also
    /// advances while the machine is suspended.
    pub monotonic: Duration,
    /// The time since the Unix epoch. The operator may set this clock to any value at any time.
    pub wall: Duration,
}

impl Now {
    /// Returns both readings advanced by this duration.
    pub fn after(self, elapsed: Duration) -> Now {
        Now {
            monotonic: self.monotonic.saturating_add(elapsed),
            wall: self.wall.saturating_add(elapsed),
        }
    }

    /// Wall time in whole milliseconds, the unit in the store.
    pub fn wall_ms(&self) -> i64 {
        i64::try_from(self.wall.as_millis()).unwrap_or(i64::MAX)
    }
}

/// A source of time.
pub trait Clock: Send + Sync {
    /// Reads both clocks.
    fn now(&self) -> Now;

    /// The current boot of the machine, by which processes compare their monotonic times. `None` if
    /// the system does not identify its boots.
    fn boot(&self) -> Option<Boot>;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: BootInstant,
    boot: Option<Boot>,
}

impl SystemClock {
    /// Creates a clock whose monotonic time begins now.
    pub fn start() -> SystemClock {
        let started = BootInstant::now();
        SystemClock { started, boot: started.boot() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now {
            monotonic: self.started.elapsed(),
            wall: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        }
    }

    fn boot(&self) -> Option<Boot> {
        self.boot.clone()
    }
}

/// A clock that a test moves.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Now>,
    boot_number: u32,
    age_at_start: Duration,
}

impl ManualClock {
    /// Creates a clock that shows this wall time, on a machine that has just booted.
    pub fn new(wall: Duration) -> ManualClock {
        let now = Now { monotonic: Duration::ZERO, wall };
        ManualClock { now: Mutex::new(now), boot_number: 1, age_at_start: Duration::ZERO }
    }

    /// Returns the clock of a new process on the same boot.
    pub fn restarted(&self) -> ManualClock {
        let Now { monotonic, wall } = self.now();
        let age_at_start = self.age_at_start + monotonic;
        ManualClock { boot_number: self.boot_number, age_at_start, ..ManualClock::new(wall) }
    }

    /// Returns the clock of a new process after a reboot that took no time.
    pub fn rebooted(&self) -> ManualClock {
        let boot_number = self.boot_number + 1;
        ManualClock { boot_number, ..ManualClock::new(self.now().wall) }
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock();
        *now = now.after(by);
    }

    /// Sets only the wall clock, forward or back.
    pub fn set_wall(&self, wall: Duration) {
        self.now.lock().wall = wall;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.now.lock()
    }

    fn boot(&self) -> Option<Boot> {
        let id = format!("boot {}", self.boot_number);
        Some(Boot { id, age_at_start: self.age_at_start })
    }
}
