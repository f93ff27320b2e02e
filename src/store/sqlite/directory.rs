//! Creates and finds the data directory and the store's file in it.

use super::write_access::INTENT_FILE_NAME;
use crate::limits::LIMITS_FILE_NAME;
use crate::private_file::private_file;
use crate::store::StoreError;
use rustix::fs::Access;
use rustix::io::Errno;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The store's file in the data directory.
pub const FILE_NAME: &str = "store.sqlite";

/// Creates the directory if it is missing. Only its owner can access it.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Returns true if this directory has a store. Fails if this user may not read it.
pub fn exists(directory: &Path) -> Result<bool, StoreError> {
    is_readable(&directory.join(FILE_NAME))
        .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })
}

/// Returns true if the file exists. Fails if this user may not read it. Does not open the file:
/// closing it would release SQLite's locks on it (fcntl(2), "Advisory record locking").
pub fn is_readable(file: &Path) -> io::Result<bool> {
    match rustix::fs::access(file, Access::READ_OK) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the path of the store's file in this directory. Fails if it does not exist.
pub fn existing_store(directory: &Path) -> Result<PathBuf, StoreError> {
    let path = directory.join(FILE_NAME);
    if exists(directory)? {
        return Ok(path);
    }
    Err(StoreError::NoStore(path))
}

/// Files that show that a directory had a store: its write-ahead log, the saved request counts, and
/// the lock file of commands.
const TRACES: [&str; 3] = ["store.sqlite-wal", LIMITS_FILE_NAME, INTENT_FILE_NAME];

/// Fails if the directory lost its store. Creating an empty store would hide the loss, and SQLite
/// would delete the write-ahead log.
fn refuse_lost_store(directory: &Path) -> Result<(), StoreError> {
    let has_file = |name: &str| directory.join(name).exists();
    let trace = TRACES.into_iter().find(|name| has_file(name));
    let Some(trace) = trace.filter(|_| !has_file(FILE_NAME)) else { return Ok(()) };
    let directory = directory.display();
    Err(StoreError::Refused(format!(
        "{directory} had a store, as {trace} in it shows, but {FILE_NAME} is missing: move it back, \
         with {FILE_NAME}-wal if you have that, or move the directory away and restore a backup with \
         `store-orders restore`; for a new store, empty the directory"
    )))
}

/// Returns the path of the store's file in this directory. If the file is missing, creates an empty
/// file that only its owner can access. SQLite gives its `-wal` and `-shm` files the same mode.
pub fn store_file(directory: &Path) -> Result<PathBuf, StoreError> {
    let path = directory.join(FILE_NAME);
    if path.is_symlink() {
        return Err(StoreError::Refused(format!(
            "{} is a symbolic link: the locks and the -wal file of a store have to be in its \
             directory; name that with --data-dir, or link the directory instead",
            path.display()
        )));
    }
    refuse_lost_store(directory)?;
    match private_file(&path, directory) {
        Ok(_) => Ok(path),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(StoreError::Directory { path: directory.to_path_buf(), source })
        }
        Err(error) => Err(StoreError::Engine { doing: "opened", source: error.into() }),
    }
}
