//! Backs up a live store and restores a backup. Both operations write a copy under a temporary
//! name, check it, sync it and then rename it into place.

use super::check::{examine, open_existing, quick_check};
use super::connection::{STORE_ACCESS, connect_with, doing};
use super::directory::{
    FILE_NAME, JOURNAL, LAST_BACKUP, LOG, UNFINISHED_REPLACEMENT, UNFINISHED_RESTORE,
    existing_store, side_file,
};
use super::identity::begin_new_store;
use super::replacement::OldStore;
use super::schema;
use super::server_lock::keep_servers_away;
use crate::private_file::private_file;
use crate::store::{CheckReport, StoreError};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use rustix::fs::OFlags;
use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::{TempDir, TempPath};

/// The number of SQLite's pages that one step copies: 1 MiB in total. An interrupt takes effect
/// between two steps.
const PAGES_PER_STEP: i32 = 256;

/// The pause before repeating a step that failed because another process has locked a file.
const RETRY_AFTER: Duration = Duration::from_millis(20);

/// Called after each step with the number of copied database pages and the total number.
pub type CopyProgress<'a> = &'a dyn Fn(u64, u64);

/// Converts an error that occurred while copying `file` to `target`. Replaces some messages whose
/// advice makes sense only for a store in use.
fn copy_error(file: &Path, target: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged(damage) => unsound(file, damage),
        StoreError::NotAStore { path } => {
            StoreError::Refused(format!("{} is not a store of Store Orders", path.display()))
        }
        StoreError::NoStore(path) => {
            StoreError::Refused(format!("there is no store at {}", path.display()))
        }
        error @ StoreError::Engine { .. } => StoreError::File {
            doing: format!("copy {} to {}", file.display(), target.display()),
            source: Box::new(error),
        },
        error => error,
    }
}

fn unsound(file: &Path, problem: impl Display) -> StoreError {
    StoreError::Refused(format!(
        "{} is not sound: {problem}; fix: copy the file again if it is itself a copy, or restore \
         an earlier backup",
        file.display()
    ))
}

fn already_exists(path: &Path) -> StoreError {
    StoreError::Refused(format!("{} is there already and is not overwritten", path.display()))
}

fn interrupted() -> StoreError {
    StoreError::Refused("interrupted; there is no copy".to_string())
}

/// Copies a snapshot of the store in this directory to a new file that only its owner can read.
/// Servers and commands can keep running. Returns the file's length in bytes. Fails if the file
/// exists. If interrupted, fails and leaves no file.
pub fn back_up(
    directory: &Path,
    file: &Path,
    progress: CopyProgress<'_>,
    is_interrupted: &dyn Fn() -> bool,
) -> Result<u64, StoreError> {
    let path = existing_store(directory)?;
    let failed = |error| copy_error(&path, file, error);
    let store = open_existing(&path, STORE_ACCESS).map_err(failed)?;
    refuse_existing(file)?;
    let copy = StagedCopy::create(file, ".store-orders-backup-")?;
    // After an interrupt, `fill` returns an incomplete copy or an error. So check for interrupts
    // before the result is used.
    let filled = copy.fill(&store, progress, is_interrupted);
    if is_interrupted() {
        return Err(interrupted());
    }
    let connection = filled.map_err(failed)?;
    if let Some(problem) = quick_check(&connection) {
        return Err(unsound(&path, problem));
    }
    if is_interrupted() {
        return Err(interrupted());
    }
    let length = copy.complete(connection)?;
    copy.publish()?;
    // Ignore an error, because the directory may be read-only. The metric of the last backup then
    // does not show this backup.
    let _ = private_file(&directory.join(LAST_BACKUP), directory)
        .and_then(|file| file.set_modified(SystemTime::now()));
    Ok(length)
}

/// Returns the time of the last backup of the store in this directory. A backup sets this time as
/// the modification time of the file `LAST_BACKUP`. Returns `None` if the file is missing or its
/// time cannot be read.
pub fn last_backup(directory: &Path) -> Option<SystemTime> {
    directory.join(LAST_BACKUP).metadata().and_then(|file| file.modified()).ok()
}

pub struct Replaced {
    pub report: CheckReport,
    /// The directory with the files of the old store, or `None` if the old store had no files.
    pub old: Option<PathBuf>,
}

/// Restores a backup into this directory. Fails if the directory already has a store. No server can
/// start until the restore ends.
///
/// The restored store gets a new id. New accounts and keys skip the ids that the original store may
/// have issued after the backup.
pub fn restore(
    file: &Path,
    directory: &Path,
    progress: CopyProgress<'_>,
) -> Result<CheckReport, StoreError> {
    Ok(restore_over(false, file, directory, progress)?.report)
}

/// Restores a backup as [`restore`] does, but moves the files of an existing store aside. The files
/// are moved only after the copy is complete.
pub fn replace(
    file: &Path,
    directory: &Path,
    progress: CopyProgress<'_>,
) -> Result<Replaced, StoreError> {
    restore_over(true, file, directory, progress)
}

fn restore_over(
    replaces: bool,
    file: &Path,
    directory: &Path,
    progress: CopyProgress<'_>,
) -> Result<Replaced, StoreError> {
    let path = directory.join(FILE_NAME);
    let failed = |error| copy_error(file, &path, error);
    let backup = open_existing(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    let _no_server = keep_servers_away(directory)?;
    let old = match replaces {
        true => Some(OldStore::lock(directory)?),
        false => refuse_old_store(directory).map(|()| None)?,
    };
    let copy = StagedCopy::create(&path, UNFINISHED_RESTORE)?;
    let mut connection = copy.fill(&backup, progress, &|| false).map_err(failed)?;
    let report = examine(&connection);
    if let Some(problem) = report.problems.first() {
        return Err(unsound(file, problem));
    }
    schema::apply_missing(&mut connection).map_err(failed)?;
    begin_new_store(&mut connection).map_err(failed)?;
    copy.complete(connection)?;
    let old = old.map(OldStore::set_aside).transpose()?.flatten();
    copy.publish()?;
    Ok(Replaced { report, old })
}

/// Fails if the directory has a store or leftover files of one. SQLite would apply a leftover log
/// or journal to the restored store.
fn refuse_old_store(directory: &Path) -> Result<(), StoreError> {
    let store = directory.join(FILE_NAME);
    let [log, journal] = [LOG, JOURNAL].map(|ending| side_file(&store, ending));
    for file in [store, log, journal, directory.join(UNFINISHED_REPLACEMENT)] {
        if file.symlink_metadata().is_ok() {
            return Err(StoreError::Refused(format!(
                "{} is there already and is not overwritten; `store-orders restore --replace` moves \
                 the old store to a new directory in {}",
                file.display(),
                directory.display()
            )));
        }
    }
    Ok(())
}

/// Creates an empty store in this directory. The file gets its name only when it is complete, so a
/// killed process leaves no incomplete store.
pub fn create_store(directory: &Path) -> Result<(), StoreError> {
    let path = directory.join(FILE_NAME);
    refuse_existing(&path)?;
    let store = StagedCopy::create(&path, ".store-orders-new-")?;
    let mut connection = store.connect().map_err(|error| doing("written")(error.into()))?;
    schema::apply_missing(&mut connection).map_err(doing("written"))?;
    store.complete(connection)?;
    store.publish()
}

/// A store's file that is being written under a temporary name. Dropping a `StagedCopy` removes the
/// file.
struct StagedCopy {
    target: PathBuf,
    /// The directory is on the target's file system, because a rename publishes the copy. SQLite's
    /// extra files disappear with the directory.
    directory: TempDir,
    /// The open, locked directory. The lock keeps other processes from removing the directory.
    _lock: File,
}

impl StagedCopy {
    /// Creates an empty file in a new temporary directory next to the target. First removes
    /// directories with the same `prefix` that killed processes have left.
    fn create(target: &Path, prefix: &str) -> Result<StagedCopy, StoreError> {
        let unwritable = |error: io::Error| StoreError::unwritable(target, error);
        // Check that the target's directory exists, because the error of `tempdir_in` would name
        // the temporary directory.
        std::fs::metadata(parent(target)).map_err(unwritable)?;
        remove_abandoned(parent(target), prefix);
        let directory = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(parent(target))
            .map_err(unwritable)?;
        let lock = File::open(directory.path()).map_err(unwritable)?;
        // The lock keeps other processes from removing this directory, because they remove only
        // directories that they can lock. Ignore an error: on some network file systems, nobody can
        // lock a directory, so nobody removes this one.
        let _ = lock.lock();
        let copy = StagedCopy { target: target.to_path_buf(), directory, _lock: lock };
        private_file(&copy.path(), parent(target)).map_err(unwritable)?;
        Ok(copy)
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("copy.sqlite")
    }

    /// Copies all pages. If interrupted, returns an incomplete copy.
    fn fill(
        &self,
        source: &Connection,
        progress: CopyProgress<'_>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Connection, StoreError> {
        let fill = || {
            let mut copy = self.connect()?;
            copy_pages(source, &mut copy, progress, is_interrupted)?;
            // Switch off WAL mode, so that the copy is a single file. Such a copy can also be read
            // in a read-only directory.
            copy.pragma_update(None, "journal_mode", "DELETE")?;
            Ok(copy)
        };
        fill().map_err(doing("copied"))
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let copy = connect_with(&self.path(), STORE_ACCESS)?;
        // Do not sync each step, because `complete` syncs the whole copy.
        copy.pragma_update(None, "synchronous", "OFF")?;
        Ok(copy)
    }

    /// Closes the copy, and syncs it so that it survives a power cut. Returns its length in bytes.
    fn complete(&self, connection: Connection) -> Result<u64, StoreError> {
        connection.close().map_err(|(_, error)| doing("written")(error.into()))?;
        let sync = || {
            let copy = File::open(self.path())?;
            copy.sync_all()?;
            Ok(copy.metadata()?.len())
        };
        sync().map_err(|error| StoreError::unwritable(&self.target, error))
    }

    fn publish(self) -> Result<(), StoreError> {
        let publish = || {
            TempPath::try_from_path(self.path())?.persist_noclobber(&self.target)?;
            File::open(parent(&self.target))?.sync_all()
        };
        publish().map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => already_exists(&self.target),
            _ => StoreError::unwritable(&self.target, source),
        })
    }
}

/// Copies all pages of one snapshot. Concurrent commits neither appear in the copy nor restart the
/// copying.
fn copy_pages(
    source: &Connection,
    copy: &mut Connection,
    progress: CopyProgress<'_>,
    is_interrupted: &dyn Fn() -> bool,
) -> rusqlite::Result<()> {
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&snapshot, copy)?;
    while !is_interrupted() {
        let step = backup.step(PAGES_PER_STEP)?;
        let now = backup.progress();
        progress((now.pagecount - now.remaining).max(0) as u64, now.pagecount.max(0) as u64);
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => std::thread::sleep(RETRY_AFTER),
        }
    }
    Ok(())
}

/// Removes the temporary directories with this `prefix` that killed processes have left. Skips
/// locked directories, because running processes still use them.
fn remove_abandoned(directory: &Path, prefix: &str) {
    let mut open = OpenOptions::new();
    open.read(true).custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed());
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_staged = entry.file_name().to_string_lossy().starts_with(prefix);
        if is_staged && open.open(entry.path()).is_ok_and(|staged| staged.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn refuse_existing(path: &Path) -> Result<(), StoreError> {
    match path.symlink_metadata() {
        Ok(_) => Err(already_exists(path)),
        Err(_) => Ok(()),
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
