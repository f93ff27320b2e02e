//! The record of the limits: what carries windows, strikes and bans over a
//! restart. A file of its own, `limits.sqlite` in the data directory, so that a
//! damaged record touches no order and no key. No request ever waits for it.
//!
//! Its moments are of a counting time that runs on from one run to the next:
//! while a server runs it follows the monotonic clock, and over a restart it
//! goes on by as much as wall time did, never back. So a wall clock that is set
//! while the server runs changes nothing, and one that is set back over a
//! restart gives nobody more to wait than there was.

mod check;
mod file;
mod keeper;

pub use check::check;
pub use keeper::LimitsPersister;

use super::in_memory::{Counts, InMemoryLimits};
use super::timestamp::Timestamp;
use crate::clock::{Clock, Now};
use file::{File, FileError, Saved, SavedClock};
use slog::{Logger, error, info};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The file in the data directory.
pub const FILE_NAME: &str = "limits.sqlite";

/// How often counts that no longer matter are looked for.
const FORGOTTEN_EVERY: Duration = Duration::from_secs(600);

/// A wall clock that has moved this far against the monotonic one is recorded
/// even when nothing was counted: 100 ms, in nanoseconds.
const DRIFT: u64 = 100_000_000;

/// The record of some limits, and the file it is in.
pub struct LimitsFile {
    path: PathBuf,
    limits: Arc<InMemoryLimits>,
    clock: Arc<dyn Clock>,
    log: Logger,
    file: Option<File>,
    /// Counting time minus monotonic time, in nanoseconds.
    ahead: i64,
    /// Wall time minus monotonic time when the file was last written.
    wall_ahead: Option<i64>,
    /// The file does not hold all that is counted, so the next write must.
    is_partial: bool,
    forget_at: Timestamp,
}

impl LimitsFile {
    /// Opens the record in this directory and restores the limits from it. It
    /// never fails: a damaged record is set aside, and with one that cannot be
    /// read or written counting goes on in memory; the log says so.
    pub fn open(
        directory: &Path,
        limits: Arc<InMemoryLimits>,
        clock: Arc<dyn Clock>,
        log: Logger,
    ) -> LimitsFile {
        let now = clock.now();
        let mut record = LimitsFile {
            path: directory.join(FILE_NAME),
            limits,
            clock,
            log,
            file: None,
            ahead: nanoseconds(now.wall).saturating_sub(nanoseconds(now.monotonic)),
            wall_ahead: None,
            is_partial: true,
            forget_at: Timestamp::from(now.monotonic) + FORGOTTEN_EVERY,
        };
        match record.open_file(now) {
            Ok((file, saved)) => record.restore(file, saved, now),
            Err(error) => record.unusable(&error),
        }
        record
    }

    /// Writes what has changed since the last call. On failure the log says so,
    /// once, and the next call writes everything.
    pub fn write(&mut self) {
        let now = self.clock.now();
        self.forget(now);
        let was_unusable = self.file.is_none();
        match self.try_write(now) {
            Ok(()) if was_unusable => info!(self.log, "the limits are recorded again"),
            Ok(()) => {}
            Err(error) => {
                // The file is opened anew, and found damaged if it is.
                self.file = None;
                self.is_partial = true;
                if !was_unusable {
                    self.unusable(&error);
                }
            }
        }
    }

    /// The last write of a run: it notes the time too, whatever has changed.
    pub fn finish(&mut self) {
        self.wall_ahead = None;
        self.write();
    }

    fn try_write(&mut self, now: Now) -> Result<(), FileError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.open_file(now)?.0,
        };
        let file = self.file.insert(file);
        let counts = if self.is_partial { self.limits.all() } else { self.limits.changes() };
        let wall_ahead = nanoseconds(now.wall).saturating_sub(nanoseconds(now.monotonic));
        let drifted = self.wall_ahead.is_none_or(|last| last.abs_diff(wall_ahead) > DRIFT);
        if counts.is_empty() && !drifted && !self.is_partial {
            return Ok(());
        }
        let clock = SavedClock {
            counting: nanoseconds(now.monotonic).saturating_add(self.ahead),
            wall: nanoseconds(now.wall),
        };
        file.write(&counts.moved(self.ahead).sorted(), clock, self.is_partial)?;
        self.is_partial = false;
        self.wall_ahead = Some(wall_ahead);
        Ok(())
    }

    fn forget(&mut self, now: Now) {
        let now = Timestamp::from(now.monotonic);
        if now >= self.forget_at {
            self.forget_at = now + FORGOTTEN_EVERY;
            self.limits.forget(now);
        }
    }

    /// Opens the file, a new one if there is none or it is damaged.
    fn open_file(&self, now: Now) -> Result<(File, Saved), FileError> {
        match File::open(&self.path) {
            Err(FileError::Damaged(why)) => {
                let aside = file::set_aside(&self.path, now.wall.as_secs())?;
                error!(self.log, "the record of the limits is damaged: it was set aside, and what \
                    it held is counted no more";
                    "file" => %self.path.display(), "aside" => %aside.display(), "error" => why);
                File::open(&self.path)
            }
            other => other,
        }
    }

    fn restore(&mut self, file: File, saved: Saved, now: Now) {
        if let Some(clock) = saved.clock {
            let passed = nanoseconds(now.wall).saturating_sub(clock.wall).max(0);
            let counting = clock.counting.saturating_add(passed);
            self.ahead = counting.saturating_sub(nanoseconds(now.monotonic));
            self.is_partial = false;
        }
        let monotonic = Timestamp::from(now.monotonic);
        self.limits.restore(saved.counts.moved(self.ahead.saturating_neg()), monotonic);
        self.limits.forget(monotonic);
        self.file = Some(file);
    }

    fn unusable(&self, error: &FileError) {
        error!(self.log, "the limits cannot be recorded: counting goes on in memory, and a restart \
            would forget it";
            "file" => %self.path.display(), "error" => crate::log::chain(error));
    }
}

impl Counts {
    /// The same counts with every moment moved by so many nanoseconds.
    fn moved(mut self, by: i64) -> Counts {
        let moved = |moment: &mut Timestamp| {
            *moment = Timestamp::of_nanoseconds(moment.nanoseconds().saturating_add(by));
        };
        for windows in self.accounts.iter_mut().filter_map(|(_, windows)| windows.as_mut()) {
            moved(&mut windows.minute.closes);
            moved(&mut windows.day.closes);
        }
        for strikes in self.keys.iter_mut().filter_map(|(_, strikes)| strikes.as_mut()) {
            moved(&mut strikes.closes);
            moved(&mut strikes.banned_until);
        }
        self
    }

    /// The same counts in the order of the rows: so written, each page of the
    /// file is touched once.
    fn sorted(mut self) -> Counts {
        self.accounts.sort_unstable_by_key(|(account, _)| *account);
        self.keys.sort_unstable_by_key(|(key, _)| *key);
        self
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
