//! The clock: monotonic time for windows and bans, wall time for what is printed.
//! Tests move it; nothing here sleeps.

use parking_lot::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A reading of both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since an instant before the server started; never goes back.
    pub monotonic: Duration,
    /// Since the Unix epoch; may be set to any value at any time.
    pub wall: Duration,
}

impl Now {
    /// Wall time in whole milliseconds, as the store writes it.
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
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time begins now.
    pub fn start() -> SystemClock {
        SystemClock { started: Instant::now() }
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
pub struct ManualClock {
    now: Mutex<Now>,
}

impl ManualClock {
    /// A clock stopped at this wall time.
    pub fn at(wall: Duration) -> ManualClock {
        ManualClock { now: Mutex::new(Now { monotonic: Duration::ZERO, wall }) }
    }

    /// Advances both clocks.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock();
        now.monotonic += by;
        now.wall += by;
    }

    /// Sets the wall clock alone, forward or back.
    pub fn set_wall(&self, wall: Duration) {
        self.now.lock().wall = wall;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.now.lock()
    }
}
