//! Detects that the files of an open store were removed or replaced. SQLite goes on with the files
//! that it has open, so changes would be acknowledged that no later start can see.

use crate::store::StoreError;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The device and the inode of a file.
type FileId = (u64, u64);

/// The store's file and its write-ahead log, and which files they were when they were opened.
#[derive(Debug)]
pub struct OpenFiles([(PathBuf, FileId); 2]);

impl OpenFiles {
    /// Remembers the files of the store in this file, which a connection must have read: it creates
    /// the log.
    pub fn new(store: &Path) -> io::Result<OpenFiles> {
        let mut log = OsString::from(store);
        log.push("-wal");
        let (store, log) = (store.to_path_buf(), PathBuf::from(log));
        let ids = (file_id(&store)?, file_id(&log)?);
        Ok(OpenFiles([(store, ids.0), (log, ids.1)]))
    }

    /// Fails unless the paths still name these files. An open file keeps its inode, so no other
    /// file can have it. Costs a system call for each file, 2 µs, and no allocation.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        for (path, opened) in &self.0 {
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
