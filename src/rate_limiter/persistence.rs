//! Saves the windows of accounts in `limits.snapshot` in the data directory, to restore them after
//! a restart. The file is separate from the store, so damage to the file affects no orders or keys.
//! A separate thread writes the file, so no request waits for a write.

mod file_report;
mod persister;
mod saved;

pub use file_report::{CountsFileReport, check};
pub use persister::CountsPersister;

use super::in_memory::InMemoryRateLimiter;
use crate::clock::{Clock, Now, Timestamp};
use crate::log::ErrorChain;
use saved::{ReadError, SavedCounts};
use slog::{Logger, error, info, warn};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The name of the counts file in the data directory.
pub const FILE_NAME: &str = "limits.snapshot";

/// The interval for removing expired windows, strikes and bans from memory.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(600);

const EFFECT: &str = "windows start at zero";

pub struct CountsFile {
    path: PathBuf,
    store_id: String,
    limits: Arc<InMemoryRateLimiter>,
    clock: Arc<dyn Clock>,
    log: Logger,
    /// False if the last read or write failed.
    is_available: bool,
    /// True once the counts are restored or no usable file was found. Until then, the file must not
    /// be overwritten, because its counts would be lost.
    is_restored: bool,
    /// True before the first successful write, after a failed write, and when the server stops.
    /// Forces a write even if nothing was counted.
    must_write: bool,
    next_cleanup: Timestamp,
}

impl CountsFile {
    /// Restores the counts from the file in this directory. Renames a damaged file or the file of
    /// another store.
    ///
    /// Logs errors and never fails. After an error, [`CountsFile::write`] tries again to restore
    /// the counts before it writes.
    pub fn open(
        directory: &Path,
        store_id: String,
        limits: Arc<InMemoryRateLimiter>,
        clock: Arc<dyn Clock>,
        log: Logger,
    ) -> CountsFile {
        let now = clock.now();
        let mut file = CountsFile {
            path: directory.join(FILE_NAME),
            store_id,
            limits,
            clock,
            log,
            is_available: true,
            is_restored: false,
            must_write: true,
            next_cleanup: Timestamp::from(now.monotonic) + CLEANUP_INTERVAL,
        };
        let restored = file.restore(now);
        file.log_changed_availability(restored);
        file
    }

    /// Writes the counts to the file if they have changed since the last successful write, or if no
    /// write has succeeded yet. Returns true if the file is up to date. Logs only the first of
    /// consecutive failures.
    ///
    /// Every `CLEANUP_INTERVAL`, also removes expired windows and strikes from memory.
    pub fn write(&mut self) -> bool {
        let now = self.clock.now();
        let monotonic = Timestamp::from(now.monotonic);
        if monotonic >= self.next_cleanup {
            self.next_cleanup = monotonic + CLEANUP_INTERVAL;
            self.limits.remove_closed_windows(now.wall.into());
            self.limits.remove_expired_strikes(monotonic);
        }
        let outcome = self.try_write(now);
        self.log_changed_availability(outcome);
        self.is_available
    }

    /// Writes the file before the server stops. Writes even if nothing has changed, because the
    /// file may have been removed.
    pub fn finish(&mut self) -> bool {
        self.must_write = true;
        self.write()
    }

    fn try_write(&mut self, now: Now) -> io::Result<()> {
        self.restore(now)?;
        if !self.limits.take_changed() && !self.must_write {
            return Ok(());
        }
        // `take_changed` cleared the flag. If this write fails, `must_write` makes the next call
        // retry.
        self.must_write = true;
        let limits = self.limits.saved_windows(now.wall.into());
        let store_id = self.store_id.clone();
        SavedCounts { store_id, saved_at: now.wall, limits }.write(&self.path)?;
        self.must_write = false;
        Ok(())
    }

    /// Restores the counts from the counts file, unless an earlier call has done so. Renames the
    /// file if it is damaged or belongs to another store.
    fn restore(&mut self, now: Now) -> io::Result<()> {
        if self.is_restored {
            return Ok(());
        }
        match SavedCounts::read(&self.path) {
            Ok(Some(saved)) if saved.store_id == self.store_id => {
                self.limits.restore(saved.limits, now.wall.into());
                self.limits.remove_closed_windows(now.wall.into());
            }
            Ok(Some(_)) => {
                let renamed = self.quarantine("other-store", now)?;
                warn!(self.log, "counts file of another store quarantined";
                    "file" => %self.path.display(), "quarantine" => %renamed.display(),
                    "effect" => EFFECT);
            }
            Ok(None) => {}
            Err(ReadError::Damaged(damage)) => {
                let renamed = self.quarantine("damaged", now)?;
                error!(self.log, "counts file quarantined"; "file" => %self.path.display(),
                    "quarantine" => %renamed.display(), "error" => damage, "effect" => EFFECT);
            }
            Err(ReadError::Unavailable(error)) => return Err(error),
        }
        self.is_restored = true;
        Ok(())
    }

    /// Renames the file, to keep it for an investigation. Returns the new path.
    fn quarantine(&self, why: &str, now: Now) -> io::Result<PathBuf> {
        let renamed = format!("{FILE_NAME}.{why}-{}", now.wall.as_secs());
        let renamed = self.path.with_file_name(renamed);
        std::fs::rename(&self.path, &renamed)?;
        Ok(renamed)
    }

    fn log_changed_availability(&mut self, outcome: io::Result<()>) {
        let was_available = std::mem::replace(&mut self.is_available, outcome.is_ok());
        match outcome {
            Ok(()) if !was_available => info!(self.log, "counts file available again"),
            Err(error) if was_available => {
                error!(self.log, "counts file unavailable"; "file" => %self.path.display(),
                    "error" => %ErrorChain(&error),
                    "effect" => "counting goes on in memory, and a restart forgets it",
                    "fix" => "free disk space or correct the permissions; the next write retries");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::persister::WRITE_INTERVAL;
    use super::*;
    use crate::clock::ManualClock;
    use crate::rate_limiter::{KeyBan, KeyedRequest, RateLimiter, Window};
    use futures::FutureExt;
    use slog::{Discard, o};
    use std::os::unix::fs::{MetadataExt, chown};
    use std::process::Command;
    use std::time::Instant;
    use store_orders_api::plans::PlanLimits;

    struct Setup {
        directory: tempfile::TempDir,
        clock: Arc<ManualClock>,
        limits: Arc<InMemoryRateLimiter>,
        file: CountsFile,
    }

    impl Setup {
        fn new() -> Setup {
            Setup::in_directory(tempfile::tempdir().unwrap())
        }

        fn in_directory(directory: tempfile::TempDir) -> Setup {
            let clock = Arc::new(ManualClock::new(Duration::from_secs(1_000_000)));
            let log = Logger::root(Discard, o!());
            let limits = Arc::new(InMemoryRateLimiter::new(10, log.clone()));
            let (path, id) = (directory.path(), "a store".to_string());
            let file = CountsFile::open(path, id, Arc::clone(&limits), clock.clone(), log);
            Setup { directory, clock, limits, file }
        }

        fn path(&self) -> PathBuf {
            self.directory.path().join(FILE_NAME)
        }

        fn admit(&self, account: i64, per_minute: u32) {
            let limits = PlanLimits { per_minute, per_day: 10 };
            let request = KeyedRequest { account, key: account, limits, ban: KeyBan::default() };
            let (key_id, now) = (Arc::from("key_1"), self.clock.now());
            self.limits.admit(request, &key_id, now, Instant::now()).now_or_never().unwrap();
        }

        /// Returns the file's inode. Each write creates a new file, which has a different inode.
        fn inode(&self) -> u64 {
            std::fs::metadata(self.path()).unwrap().ino()
        }
    }

    #[test]
    fn the_file_is_written_only_if_something_has_changed() {
        let mut setup = Setup::new();
        let writes = |setup: &mut Setup| {
            setup.file.write();
            std::fs::remove_file(setup.path()).is_ok()
        };
        assert!(writes(&mut setup), "the first write");
        assert!(!writes(&mut setup), "nothing has changed");
        setup.admit(1, 1);
        assert!(writes(&mut setup));
        assert!(!writes(&mut setup));
        setup.admit(1, 1);
        assert!(!writes(&mut setup), "a refusal adds only a strike, which is not saved");
        std::fs::create_dir(setup.path()).unwrap();
        setup.admit(2, 1);
        assert!(!setup.file.write());
        std::fs::remove_dir(setup.path()).unwrap();
        assert!(writes(&mut setup), "the write before failed");
    }

    /// Opening a FIFO would wait for a process that writes to it, so the server must refuse to open
    /// one.
    #[test]
    fn a_fifo_in_place_of_the_file_is_unavailable_until_it_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let mut setup = Setup::in_directory(directory);
        assert!(!setup.file.is_available && !setup.file.write());
        std::fs::remove_file(path).unwrap();
        assert!(setup.file.write());
    }

    /// A server may write the file as root. A later server that runs as the directory's owner must
    /// be able to read the file.
    #[test]
    fn the_file_belongs_to_the_owner_of_its_directory() {
        let mut setup = Setup::new();
        if rustix::process::geteuid().is_root() {
            chown(setup.directory.path(), Some(65_534), Some(65_534)).unwrap();
        }
        setup.file.write();
        let owner = |path: &Path| std::fs::metadata(path).unwrap().uid();
        assert_eq!(owner(&setup.path()), owner(setup.directory.path()));
    }

    #[test]
    fn an_idle_server_does_not_write_the_file() {
        let mut setup = Setup::new();
        setup.admit(1, 5);
        setup.file.write();
        let inode = setup.inode();
        // The loop counts no requests. Windows that close or are removed from memory must not cause
        // a write.
        for step in [WRITE_INTERVAL, CLEANUP_INTERVAL, Window::Day.length()] {
            for _ in 0..10 {
                setup.clock.advance(step);
                setup.file.write();
                assert_eq!(setup.inode(), inode, "{step:?}");
            }
        }
        setup.admit(1, 5);
        setup.file.write();
        assert_ne!(setup.inode(), inode);
    }

    #[test]
    fn a_closed_minute_window_takes_little_space_in_the_file() {
        const ACCOUNTS: i64 = 1_000;
        let mut setup = Setup::new();
        let bytes_an_account = |setup: &mut Setup| {
            setup.admit(ACCOUNTS, 5);
            setup.file.write();
            std::fs::metadata(setup.path()).unwrap().len() / ACCOUNTS as u64
        };
        for account in 0..ACCOUNTS {
            setup.admit(account, 5);
        }
        let both = bytes_an_account(&mut setup);
        setup.clock.advance(Window::Minute.length() * 2);
        let day_alone = bytes_an_account(&mut setup);
        assert!(day_alone + 4 < both, "{day_alone} {both}");
    }
}
