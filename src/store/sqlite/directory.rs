//! Creates and finds the data directory and the store's file in it.

use crate::private_file::require_one_name;
use crate::rate_limiter::COUNTS_FILE_NAME;
use crate::store::StoreError;
use rustix::fs::Access;
use rustix::io::Errno;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub const FILE_NAME: &str = "store.sqlite";

/// The name of an empty file that a command locks while it waits to write. The file is never
/// removed. After a removal, two processes could lock different files of this name.
pub const INTENT_FILE_NAME: &str = "write-intent.lock";

/// The audit log in the data directory, to which commands append a line for each change.
pub const AUDIT_LOG_NAME: &str = "audit.log";

/// The prefix of the temporary directory in which a restore prepares the store's file.
pub const UNFINISHED_RESTORE: &str = ".store-orders-restore-";

/// The directory to which a restore moves the files of the old store. The restore renames the
/// directory when all files are moved, so this name marks an unfinished replacement.
pub const UNFINISHED_REPLACEMENT: &str = ".store-orders-replaced";

/// An empty file. Its modification time, which `backup` sets, is the time of the last backup.
pub const LAST_BACKUP: &str = "last-backup";

/// The suffix of the write-ahead log.
pub const LOG: &str = "-wal";

/// The suffix of the rollback journal. SQLite uses this journal outside WAL mode.
pub const JOURNAL: &str = "-journal";

/// The suffix of the file with the write-ahead log's index. In WAL mode, this file also has
/// SQLite's locks for reading and writing.
pub const LOG_INDEX: &str = "-shm";

/// Creates the directory and its missing parents, and lets only their owner access them. Leaves
/// existing directories as they are.
pub fn create(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Returns true if this directory has a store. Fails if this user may not read the store's file.
pub fn exists(directory: &Path) -> Result<bool, StoreError> {
    is_readable(&directory.join(FILE_NAME))
        .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })
}

/// True if the file exists. Fails if this user may not read it. Does not open the file, because
/// closing it would release SQLite's locks (see fcntl(2)).
pub fn is_readable(file: &Path) -> io::Result<bool> {
    match rustix::fs::access(file, Access::READ_OK) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Replaces an error of SQLite if this user cannot create files in the store's directory. SQLite's
/// own message does not name the directory as the cause.
pub fn explain_unwritable(directory: &Path, error: StoreError) -> StoreError {
    if !matches!(error, StoreError::Engine { .. }) {
        return error;
    }
    let why = match rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK) {
        Err(Errno::ROFS) => {
            "is on a read-only file system, and even to read a store, SQLite needs to write its \
             locks next to it; copy the directory to a file system that can be written"
        }
        Err(Errno::ACCESS) => {
            "does not let this user create files, and even to read a store, SQLite needs to write \
             its locks next to it; run the command as the owner, and give the directory mode 0700"
        }
        _ => return error,
    };
    StoreError::Unusable(format!("the data directory {} {why}", directory.display()))
}

/// Returns the path of the store's file in this directory. Fails if the file is missing, empty or a
/// mount point. Also fails if the file, its write-ahead log or the log's index is a link or has a
/// second hard link.
///
/// SQLite finds the log and the locks by the file's name. So processes that open the same file by
/// different names would overwrite each other's changes.
pub fn existing_store(directory: &Path) -> Result<PathBuf, StoreError> {
    let path = directory.join(FILE_NAME);
    if !exists(directory)? {
        return Err(StoreError::NoStore(path));
    }
    let metadata = path
        .symlink_metadata()
        .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
    require_one_name(&path, &metadata).map_err(|problem| second_name(&problem))?;
    if is_mounted(&path) {
        return Err(second_name(&format_args!("{} is mounted by itself", path.display())));
    }
    for ending in [LOG, LOG_INDEX] {
        let file = side_file(&path, ending);
        if let Ok(metadata) = file.symlink_metadata() {
            require_one_name(&file, &metadata)
                .map_err(|problem| StoreError::Unusable(problem.to_string()))?;
        }
    }
    match metadata.len() {
        0 => Err(emptied(&path)),
        _ => Ok(path),
    }
}

/// Returns the store's path with this ending appended, as SQLite names the files next to a
/// database.
pub fn side_file(store: &Path, ending: &str) -> PathBuf {
    let mut path = OsString::from(store);
    path.push(ending);
    PathBuf::from(path)
}

/// Returns the error for a store's file that other processes may find by another name.
fn second_name(problem: &dyn Display) -> StoreError {
    StoreError::Unusable(format!(
        "{problem}, so another process could use the store by another name, and they would \
         overwrite each other's changes; keep the file under one name in its directory, and link or \
         mount the directory instead"
    ))
}

/// Returns the error for a store's file that has no tables.
pub fn emptied(path: &Path) -> StoreError {
    StoreError::Unusable(format!(
        "{} is empty: a power cut, a full disk or an unfinished copy may have emptied it; restore a \
         backup with `store-orders restore --replace`; for a new store, empty the directory",
        path.display()
    ))
}

/// Returns true if the file itself is a mount point, for example because it was mounted into a
/// container.
#[cfg(target_os = "linux")]
fn is_mounted(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    // Kernels before 5.8 do not report the attribute, so the function returns false on these
    // kernels.
    statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::TYPE)
        .is_ok_and(|file| file.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(not(target_os = "linux"))]
fn is_mounted(_: &Path) -> bool {
    false
}

/// Files that show that the directory once had a store.
const TRACES: [&str; 3] = ["store.sqlite-wal", COUNTS_FILE_NAME, INTENT_FILE_NAME];

/// Fails if the directory lost its store, or if a restore into it did not finish. Call this before
/// you create a store in the directory. Otherwise, the new, empty store would hide the loss. SQLite
/// would also apply the lost store's write-ahead log to the new store.
pub fn require_no_traces(directory: &Path) -> Result<(), StoreError> {
    let unfinished = std::fs::read_dir(directory)
        .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with(UNFINISHED_RESTORE) || name == UNFINISHED_REPLACEMENT);
    let trace = TRACES.into_iter().find(|name| directory.join(name).exists());
    let directory = directory.display();
    match (unfinished, trace) {
        (Some(unfinished), _) => Err(StoreError::Refused(format!(
            "a restore into {directory} has not finished, as {unfinished} in it shows: if no \
             restore is running, run the same `store-orders restore` again; for a new store, empty \
             the directory"
        ))),
        (None, Some(trace)) => Err(StoreError::Refused(format!(
            "{directory} had a store, as {trace} in it shows, but {FILE_NAME} is missing: move it \
             back, with {FILE_NAME}-wal if you have that, or restore a backup with `store-orders \
             restore --replace`; for a new store, empty the directory"
        ))),
        (None, None) => Ok(()),
    }
}
