//! Detects that the files of an open store were removed or replaced. SQLite continues to use the
//! files that it has open, so acknowledged changes would be lost at the next start.

use crate::store::StoreError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The device and the inode of a file.
type FileId = (u64, u64);

/// The time for which reads reuse the result of a check. Checking for each list took a third of the
/// time of a list of 100 orders. Writes always check.
const REUSE_CHECK_FOR: Duration = Duration::from_millis(50);

/// The paths of the store's file and its write-ahead log, with the ids of the opened files.
#[derive(Debug)]
pub struct OpenFiles {
    files: [(PathBuf, FileId); 2],
    opened: Instant,
    /// The time of the last check if it succeeded, in milliseconds after `opened`; otherwise 0.
    in_place_at_ms: AtomicU64,
}

impl OpenFiles {
    /// Records the ids of the store's file and its log. A connection must have read the store,
    /// which creates the log.
    pub fn new(store: &Path) -> io::Result<OpenFiles> {
        let mut log = OsString::from(store);
        log.push("-wal");
        let (store, log) = (store.to_path_buf(), PathBuf::from(log));
        let ids = (file_id(&store)?, file_id(&log)?);
        let files = [(store, ids.0), (log, ids.1)];
        Ok(OpenFiles { files, opened: Instant::now(), in_place_at_ms: AtomicU64::new(0) })
    }

    /// Like [`Self::require_in_place`], but reuses a success of the last [`REUSE_CHECK_FOR`].
    pub fn require_recently_in_place(&self) -> Result<(), StoreError> {
        let last = self.in_place_at_ms.load(Ordering::Relaxed);
        let age = self.opened.elapsed().saturating_sub(Duration::from_millis(last));
        if last > 0 && age < REUSE_CHECK_FOR { Ok(()) } else { self.require_in_place() }
    }

    /// Fails if a path no longer names the opened file. While that file is open, no other file can
    /// get its inode number.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let result = self.check();
        let in_place_at_ms = if result.is_ok() { now_ms } else { 0 };
        self.in_place_at_ms.store(in_place_at_ms, Ordering::Relaxed);
        result
    }

    fn check(&self) -> Result<(), StoreError> {
        for (path, opened) in &self.files {
            match file_id(path) {
                Ok(id) if id == *opened => {}
                Ok(_) => return Err(misplaced(path, "another file has its name")),
                Err(error) => return Err(misplaced(path, &error.to_string())),
            }
        }
        Ok(())
    }
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

fn misplaced(path: &Path, why: &str) -> StoreError {
    StoreError::Refused(format!(
        "{} was removed or moved while it was in use ({why}), so changes would be lost; move the \
         data directory back, or stop the server with SIGTERM, so that it saves what it can, and \
         see \"Files that vanish\" in `store-orders handbook operating`",
        path.display()
    ))
}
