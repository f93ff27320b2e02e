//! The clock: wall time for windows, output and the store, monotonic time for strikes and bans. Tests can
//! replace it by a clock that they move.

mod boot_instant;

pub use boot_instant::BootInstant;

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
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: BootInstant,
}

impl SystemClock {
    /// Creates a clock whose monotonic time begins now.
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

/// A clock that a test moves.
#[derive(Debug)]
pub struct ManualClock(Mutex<Now>);

impl ManualClock {
    /// Creates a clock that shows this wall time, in a process that has just started.
    pub fn new(wall: Duration) -> ManualClock {
        ManualClock(Mutex::new(Now { monotonic: Duration::ZERO, wall }))
    }

    /// Returns the clock of a new process.
    pub fn restarted(&self) -> ManualClock {
        ManualClock::new(self.now().wall)
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = now.after(by);
    }

    /// Sets only the wall clock, forward or back.
    pub fn set_wall(&self, wall: Duration) {
        self.0.lock().wall = wall;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.0.lock()
    }
}
