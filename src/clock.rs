//! Time, as everything that counts reads it: a monotonic clock for windows and
//! bans, wall time for what is printed. Tests move it; nothing here sleeps.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A reading of both clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Since some moment before the server started; never goes back.
    pub monotonic: Duration,
    /// Since the Unix epoch; may be set to anything at any time.
    pub wall: Duration,
}

impl Now {
    /// Wall time in whole milliseconds, as the store writes it.
    pub fn wall_ms(&self) -> i64 {
        i64::try_from(self.wall.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Both clocks, read together.
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

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Now>,
}

impl ManualClock {
    /// A clock that stands at this wall time.
    pub fn at(wall: Duration) -> ManualClock {
        ManualClock { now: Mutex::new(Now { monotonic: Duration::ZERO, wall }) }
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, by: Duration) {
        self.change(|now| {
            now.monotonic += by;
            now.wall += by;
        });
    }

    /// Sets the wall clock alone, forward or back.
    pub fn set_wall(&self, wall: Duration) {
        self.change(|now| now.wall = wall);
    }

    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Now {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
