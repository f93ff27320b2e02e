//! Detects that the files of an open store were removed, replaced or overwritten. SQLite does not
//! notice, and continues to use the open files. After the next start, acknowledged changes may be
//! missing, or another process may overwrite them.

use super::directory::{LOG, LOG_INDEX, side_file};
use super::store_header::StoreHeader;
use crate::store::StoreError;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time for which reads reuse a successful check of the files. Without reuse, a request for a
/// list of 100 orders would spend a third of its time on the check. Writes always check the files.
const REUSE_CHECK_FOR: Duration = Duration::from_millis(50);

/// The number of bits for a time in [`OpenFiles::last_check`], enough for the milliseconds of 34
/// years.
const TIME_BITS: u32 = 40;

#[derive(Debug)]
pub struct OpenFiles {
    store: OpenFile,
    header: StoreHeader,
    log: OpenFile,
    /// Contains SQLite's locks. Processes with different index files would write at the same time.
    index: OpenFile,
    opened: Instant,
    /// The low [`TIME_BITS`] bits are the time of the last check, in milliseconds after `opened`.
    /// They are 0 if the last check failed. The higher bits are the number of failed checks.
    last_check: AtomicU64,
}

impl OpenFiles {
    /// Records which files the store has now. A connection must have read the store before this
    /// call, so that the log and its index exist. The caller must get `header` from `open_header`
    /// before SQLite opens the store. Otherwise SQLite would apply an old log to an overwritten
    /// store before `open_header` detects it.
    pub fn new(store: &Path, header: StoreHeader) -> io::Result<OpenFiles> {
        Ok(OpenFiles {
            store: OpenFile::new(store.to_path_buf())?,
            header,
            log: OpenFile::new(side_file(store, LOG))?,
            index: OpenFile::new(side_file(store, LOG_INDEX))?,
            opened: Instant::now(),
            last_check: AtomicU64::new(0),
        })
    }

    /// Like [`Self::require_in_place`], but reuses the last check if it succeeded less than
    /// [`REUSE_CHECK_FOR`] ago.
    pub fn require_recently_in_place(&self) -> Result<(), StoreError> {
        let last = self.last_check.load(Ordering::Relaxed) & ((1 << TIME_BITS) - 1);
        let age = self.opened.elapsed().saturating_sub(Duration::from_millis(last));
        if last > 0 && age < REUSE_CHECK_FOR { Ok(()) } else { self.require_in_place() }
    }

    /// Fails if the store's file, its log or the log's index was removed, moved or replaced. Also
    /// fails if the store's file was overwritten with a file that uses no write-ahead log, such as
    /// a backup.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let before = self.last_check.load(Ordering::Relaxed);
        let result = self.check();
        self.record(before, result.is_ok().then_some(now_ms));
        result
    }

    /// Records the result of a check. `before` is the value of `last_check` when the check began.
    /// `in_place_at` is the start of a successful check, or `None` for a failed one.
    ///
    /// A success is not recorded if another check was recorded in the meantime, because the other
    /// check may have failed after this check succeeded.
    fn record(&self, before: u64, in_place_at: Option<u64>) {
        let relaxed = Ordering::Relaxed;
        let failures = before >> TIME_BITS;
        let _ = match in_place_at {
            Some(now_ms) => {
                let succeeded = failures << TIME_BITS | now_ms;
                self.last_check.compare_exchange(before, succeeded, relaxed, relaxed)
            }
            None => self.last_check.fetch_update(relaxed, relaxed, |last| {
                Some((last >> TIME_BITS).wrapping_add(1) << TIME_BITS)
            }),
        };
    }

    /// Fails if a checkpoint could damage the store, because the store's file was overwritten, or
    /// the log's index was removed or replaced. Always succeeds if the store's file was moved or
    /// removed. A removed log alone is no reason to fail either. In both cases, the checkpoint
    /// saves changes that only this process can still read.
    pub fn require_checkpointable(&self) -> Result<(), StoreError> {
        if self.store.displaced().is_some() {
            return Ok(());
        }
        self.require_not_overwritten()?;
        self.require_index()
    }

    fn check(&self) -> Result<(), StoreError> {
        for file in [&self.store, &self.log] {
            if let Some(why) = file.displaced() {
                return Err(refusal(format!(
                    "{} was removed or moved while it was in use ({why}), so changes would be \
                     lost; move the data directory back, or stop the server with SIGTERM, so that \
                     it saves what it can",
                    file.path.display()
                )));
            }
        }
        self.require_index()?;
        self.require_not_overwritten()
    }

    /// Fails if the path of the log's index no longer names the opened file.
    pub fn require_index(&self) -> Result<(), StoreError> {
        let Some(why) = self.index.displaced() else { return Ok(()) };
        Err(refusal(format!(
            "{} was removed or moved while it was in use ({why}), so this process and others could \
             overwrite each other's changes; no acknowledged change is lost: stop the server and \
             start it again",
            self.index.path.display()
        )))
    }

    fn require_not_overwritten(&self) -> Result<(), StoreError> {
        if self.header.uses_log() {
            return Ok(());
        }
        Err(refusal(format!(
            "{} was overwritten while it was in use; stop the server and restore a backup with \
             `store-orders restore --replace`",
            self.store.path.display()
        )))
    }
}

fn refusal(problem: String) -> StoreError {
    let section = "see \"Files that vanish\" in `store-orders handbook operating`";
    StoreError::Refused(format!("{problem}; {section}"))
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    /// The device and the inode. No other file can get the inode while this one is open.
    id: (u64, u64),
}

impl OpenFile {
    fn new(path: PathBuf) -> io::Result<OpenFile> {
        Ok(OpenFile { id: file_id(&path)?, path })
    }

    /// Returns the reason why the path no longer leads to this file, or `None` if it still leads
    /// there.
    fn displaced(&self) -> Option<String> {
        match file_id(&self.path) {
            Ok(id) if id == self.id => None,
            Ok(_) => Some("another file has its name".to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn file_id(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_success_does_not_replace_a_newer_failure() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store.db");
        for path in [store.clone(), side_file(&store, LOG), side_file(&store, LOG_INDEX)] {
            std::fs::write(path, "").unwrap();
        }
        let header = StoreHeader::open(&store).unwrap();
        let files = OpenFiles::new(&store, header).unwrap();
        let in_place_at = || files.last_check.load(Ordering::Relaxed) & ((1 << TIME_BITS) - 1);
        for _ in 0..2 {
            let before = files.last_check.load(Ordering::Relaxed);
            files.record(before, None);
            files.record(before, Some(7));
            assert_eq!(in_place_at(), 0);
        }
        let before = files.last_check.load(Ordering::Relaxed);
        files.record(before, Some(7));
        assert_eq!(in_place_at(), 7);
    }
}
