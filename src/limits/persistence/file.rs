//! The limits file: restored at the start, then brought up to date by each write.

use super::database::{Database, DatabaseError, SavedLimits};
use super::quarantine::quarantine;
use super::saved_clock::{SavedClock, nanos};
use crate::clock::{Clock, Now};
use crate::limits::in_memory::InMemoryLimits;
use crate::limits::timestamp::Timestamp;
use crate::log::ErrorChain;
use slog::{Logger, error, info, warn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Its name in the data directory.
pub const FILE_NAME: &str = "limits.sqlite";

/// How often expired windows and bans are removed.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(600);

const EFFECT_OF_QUARANTINE: &str = "windows and bans start at zero";

/// When the wall clock has moved this far against the monotonic one, it is written
/// even if nothing was counted: after a reboot it alone says how much time has passed.
const MAX_WALL_DRIFT_NANOS: u64 = 100_000_000;

/// The limits, and the file that they are written to.
pub struct LimitsFile {
    path: PathBuf,
    store_id: String,
    limits: Arc<InMemoryLimits>,
    clock: Arc<dyn Clock>,
    log: Logger,
    /// `None` after an error; the next write opens it again.
    database: Option<Database>,
    /// Persistent monotonic time minus monotonic time.
    offset_nanos: i64,
    /// Wall time minus monotonic time at the last write.
    wall_offset_nanos: Option<i64>,
    /// Whether what earlier runs saved has been read; until then the file knows
    /// more than the memory does.
    is_restored: bool,
    /// Whether the next write must write everything.
    is_incomplete: bool,
    next_cleanup: Timestamp,
}

impl LimitsFile {
    /// Opens the file in this directory and restores the limits from it. This never
    /// fails: a damaged file, or that of a store with another id, is quarantined, and
    /// without a usable file counting goes on in memory. The log reports it.
    pub fn open(
        directory: &Path,
        store_id: String,
        limits: Arc<InMemoryLimits>,
        clock: Arc<dyn Clock>,
        log: Logger,
    ) -> LimitsFile {
        let now = clock.now();
        let mut file = LimitsFile {
            path: directory.join(FILE_NAME),
            store_id,
            limits,
            clock,
            log,
            database: None,
            offset_nanos: wall_offset_nanos(now),
            wall_offset_nanos: None,
            is_restored: false,
            is_incomplete: true,
            next_cleanup: Timestamp::from(now.monotonic) + CLEANUP_INTERVAL,
        };
        match file.open_database(now) {
            Ok(database) => file.database = Some(database),
            Err(error) => file.log_unavailable(&error),
        }
        file
    }

    /// Writes what has changed since the last call. The first failure in a row is
    /// logged, and the next call writes everything.
    pub fn write(&mut self) {
        let now = self.clock.now();
        self.clean_up(now);
        let was_unavailable = self.database.is_none();
        match self.try_write(now) {
            Ok(()) if was_unavailable => info!(self.log, "limits file available again"),
            Ok(()) => {}
            Err(error) => {
                self.database = None;
                self.is_incomplete = true;
                if !was_unavailable {
                    self.log_unavailable(&error);
                }
            }
        }
    }

    /// The last write of a run: writes the time even if nothing has changed.
    pub fn finish(&mut self) {
        self.wall_offset_nanos = None;
        self.write();
    }

    fn try_write(&mut self, now: Now) -> Result<(), DatabaseError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => self.open_database(now)?,
        };
        let database = self.database.insert(database);
        let snapshot =
            if self.is_incomplete { self.limits.take_all() } else { self.limits.take_changes() };
        let wall_offset = wall_offset_nanos(now);
        let has_drifted = self
            .wall_offset_nanos
            .is_none_or(|last| last.abs_diff(wall_offset) > MAX_WALL_DRIFT_NANOS);
        if snapshot.is_empty() && !has_drifted && !self.is_incomplete {
            return Ok(());
        }
        let persistent_nanos = nanos(now.monotonic).saturating_add(self.offset_nanos);
        let clock = SavedClock::at(persistent_nanos, now, self.clock.boot().as_ref());
        let snapshot = snapshot.shifted(self.offset_nanos).sorted();
        database.write(&snapshot, &clock, self.is_incomplete)?;
        self.is_incomplete = false;
        self.wall_offset_nanos = Some(wall_offset);
        Ok(())
    }

    fn clean_up(&mut self, now: Now) {
        let now = Timestamp::from(now.monotonic);
        if now >= self.next_cleanup {
            self.next_cleanup = now + CLEANUP_INTERVAL;
            self.limits.remove_expired(now);
        }
    }

    /// Opens the database; a new one if there is none or it is damaged. The first
    /// time, restores what is saved in it.
    fn open_database(&mut self, now: Now) -> Result<Database, DatabaseError> {
        let (database, saved) = match Database::open(&self.path, &self.store_id) {
            Err(DatabaseError::Damaged(damage)) => {
                let renamed = self.quarantine("damaged", now)?;
                error!(self.log, "limits file quarantined"; "file" => %self.path.display(),
                    "quarantine" => %renamed.display(), "error" => damage,
                    "effect" => EFFECT_OF_QUARANTINE);
                Database::open(&self.path, &self.store_id)
            }
            Err(DatabaseError::OtherStore) => {
                let renamed = self.quarantine("other-store", now)?;
                warn!(self.log, "limits file of another store quarantined";
                    "file" => %self.path.display(), "quarantine" => %renamed.display(),
                    "effect" => EFFECT_OF_QUARANTINE);
                Database::open(&self.path, &self.store_id)
            }
            other => other,
        }?;
        if !self.is_restored {
            self.restore(saved, now);
            self.is_restored = true;
        }
        Ok(database)
    }

    fn quarantine(&self, why: &str, now: Now) -> Result<PathBuf, DatabaseError> {
        quarantine(&self.path, why, now.wall.as_secs()).map_err(DatabaseError::NotQuarantined)
    }

    fn restore(&mut self, saved: SavedLimits, now: Now) {
        if let Some(clock) = saved.clock {
            let persistent = clock.persistent_nanos_at(now, self.clock.boot().as_ref());
            self.offset_nanos = persistent.saturating_sub(nanos(now.monotonic));
            self.is_incomplete = false;
        }
        let monotonic = Timestamp::from(now.monotonic);
        self.limits.restore(saved.limits.shifted(self.offset_nanos.saturating_neg()), monotonic);
        self.limits.remove_expired(monotonic);
    }

    fn log_unavailable(&self, error: &DatabaseError) {
        error!(self.log, "limits file unavailable"; "file" => %self.path.display(),
            "error" => %ErrorChain(error),
            "effect" => "counting goes on in memory, and a restart forgets it",
            "fix" => "free disk space or correct the permissions; the next write retries");
    }
}

fn wall_offset_nanos(now: Now) -> i64 {
    nanos(now.wall).saturating_sub(nanos(now.monotonic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::limits::{KeyedRequest, Limits};
    use futures::FutureExt;
    use rusqlite::Connection;
    use slog::{Discard, o};
    use std::time::Instant;
    use store_orders_api::plans::PlanLimits;

    #[test]
    fn only_what_has_changed_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Duration::from_secs(1_000_000)));
        let (id, log) = ("a store".to_string(), Logger::root(Discard, o!()));
        let limits = Arc::new(InMemoryLimits::new(10, log.clone()));
        let mut file =
            LimitsFile::open(directory.path(), id, Arc::clone(&limits), clock.clone(), log);
        file.write();
        let other = Connection::open(directory.path().join(FILE_NAME)).unwrap();
        // Changes with each commit of another connection.
        let version =
            || -> i64 { other.pragma_query_value(None, "data_version", |row| row.get(0)).unwrap() };
        let writes = |file: &mut LimitsFile| {
            let before = version();
            file.write();
            version() != before
        };
        assert!(!writes(&mut file), "nothing has changed");
        let plan = PlanLimits { per_minute: 1, per_day: 10 };
        let request = KeyedRequest { account: 1, key: 1, limits: plan, unbanned_at_ms: 0 };
        let key_id = Arc::from("key_1");
        // The first is counted; the second changes the strikes of the key alone.
        for _ in 0..2 {
            let now = clock.now();
            limits.admit(request, &key_id, now, Instant::now()).now_or_never().unwrap();
            assert!(writes(&mut file));
            assert!(!writes(&mut file));
        }
        let drifted = |nanos: u64| clock.now().wall + Duration::from_nanos(nanos);
        clock.set_wall(drifted(MAX_WALL_DRIFT_NANOS));
        assert!(!writes(&mut file), "a clock that is adjusted a little");
        clock.set_wall(drifted(1));
        assert!(writes(&mut file), "a clock that was set");
        assert!(!writes(&mut file));
    }
}
