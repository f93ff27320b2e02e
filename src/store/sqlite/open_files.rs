//! Detects that the files of an open store were removed or replaced. SQLite goes on with the files
//! that it has open, so changes would be acknowledged that no later start can see.

use crate::store::StoreError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The device and the inode of a file.
type FileId = (u64, u64);

/// How long a look at the paths counts for answers that acknowledge no change. Looking for each
/// list took a third of the time of a list of 100 orders.
const LOOK_LASTS: Duration = Duration::from_millis(50);

/// The store's file and its write-ahead log, and which files they were when they were opened.
#[derive(Debug)]
pub struct OpenFiles {
    files: [(PathBuf, FileId); 2],
    opened: Instant,
    /// When the last look found them in place, in milliseconds since they were opened; 0 after one
    /// that did not.
    in_place_at_ms: AtomicU64,
}

impl OpenFiles {
    /// Remembers the files of the store in this file, which a connection must have read: it creates
    /// the log.
    pub fn new(store: &Path) -> io::Result<OpenFiles> {
        let mut log = OsString::from(store);
        log.push("-wal");
        let (store, log) = (store.to_path_buf(), PathBuf::from(log));
        let ids = (file_id(&store)?, file_id(&log)?);
        let files = [(store, ids.0), (log, ids.1)];
        Ok(OpenFiles { files, opened: Instant::now(), in_place_at_ms: AtomicU64::new(0) })
    }

    /// Fails unless the paths still name these files, as of the last [`LOOK_LASTS`].
    pub fn require_lately_in_place(&self) -> Result<(), StoreError> {
        let last = self.in_place_at_ms.load(Ordering::Relaxed);
        let age = self.opened.elapsed().saturating_sub(Duration::from_millis(last));
        if last > 0 && age < LOOK_LASTS { Ok(()) } else { self.require_in_place() }
    }

    /// Fails unless the paths still name these files. An open file keeps its inode, so no other
    /// file can have it.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        let now_ms = u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        let looked = self.look();
        let in_place_at_ms = if looked.is_ok() { now_ms } else { 0 };
        self.in_place_at_ms.store(in_place_at_ms, Ordering::Relaxed);
        looked
    }

    fn look(&self) -> Result<(), StoreError> {
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
