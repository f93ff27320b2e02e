//! A copy of a live store, and a store made of such a copy. Both are written under
//! another name, checked, brought to the disk and only then put in place.

use super::check::{Findings, examine, open_existing, quick_check};
use super::{FILE_NAME, LockError, ServerLock, StoreError, give_to_owner, writing};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::{TempDir, TempPath};

/// So many pages are copied between two reports of progress: 1 MiB.
const PAGES_AT_ONCE: i32 = 256;

/// How long to wait for whoever locks a file that should be nobody's but ours.
const RETRIED_AFTER: Duration = Duration::from_millis(20);

/// Told after each step: pages copied, pages in all.
pub type Progress<'a> = &'a dyn Fn(u64, u64);

/// Why there is no copy, or no store made of one. What was there before is still
/// there, unchanged.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Nothing is ever overwritten.
    #[error("{} is there already and is not overwritten", path.display())]
    Exists {
        /// What would have to go.
        path: PathBuf,
    },
    /// Damaged, or not as a store should be.
    #[error("{} is not sound: {problem}", path.display())]
    Unsound {
        /// The file that was to be copied.
        path: PathBuf,
        /// The first thing that is wrong with it.
        problem: String,
    },
    /// What was to be restored is something else.
    #[error("{} is no store of Store Orders", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A server has the store.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The store or the copy cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused a file.
    #[error("cannot write {}", path.display())]
    File {
        /// Where the file was to be.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Copies the store of this directory as of one moment, while servers and
/// commands go on, to a file for its owner alone. Answers its length in bytes.
pub fn back_up(directory: &Path, file: &Path, progress: Progress<'_>) -> Result<u64, BackupError> {
    let path = directory.join(FILE_NAME);
    let store = open_existing(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let copy = Copy::begin(file, file)?;
    let connection = copy.fill(&store, progress)?;
    if let Some(problem) = quick_check(&connection) {
        return Err(BackupError::Unsound { path, problem });
    }
    copy.put_in_place(connection)
}

/// Makes the store of this directory, which may have none, of a backup. No server
/// starts on it meanwhile.
pub fn restore(
    file: &Path,
    directory: &Path,
    progress: Progress<'_>,
) -> Result<Findings, BackupError> {
    let backup =
        open_existing(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| match error {
            StoreError::Foreign { path } => BackupError::Foreign { path },
            error => error.into(),
        })?;
    let _lock = ServerLock::take(directory)?;
    let path = directory.join(FILE_NAME);
    // What a store leaves beside it would be taken for a part of the new one.
    for ending in ["-wal", "-journal"] {
        refuse_existing(&directory.join(format!("{FILE_NAME}{ending}")))?;
    }
    let copy = Copy::begin(&path, file)?;
    let connection = copy.fill(&backup, progress)?;
    let findings = examine(&connection);
    if let Some(problem) = findings.problems.first() {
        return Err(BackupError::Unsound { path: file.to_path_buf(), problem: problem.clone() });
    }
    copy.put_in_place(connection)?;
    Ok(findings)
}

/// A copy that is not in its place yet. If it never gets there, nothing of it
/// stays.
struct Copy {
    place: PathBuf,
    /// Beside its place, so that a rename gets it there, and apart, so that what
    /// SQLite leaves beside it goes too.
    room: TempDir,
}

impl Copy {
    fn begin(place: &Path, file: &Path) -> Result<Copy, BackupError> {
        refuse_existing(place)?;
        let unwritable = |source| BackupError::File { path: file.to_path_buf(), source };
        let room = tempfile::Builder::new()
            .prefix(".store-orders-")
            .tempdir_in(parent(place))
            .map_err(unwritable)?;
        let copy = Copy { place: place.to_path_buf(), room };
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(copy.path())
            .map_err(unwritable)?;
        Ok(copy)
    }

    fn path(&self) -> PathBuf {
        self.room.path().join("copy.sqlite")
    }

    /// Copies page by page what the source holds now: it reads one snapshot from
    /// the first page to the last, so that commits meanwhile neither show in the
    /// copy nor make it begin again.
    fn fill(&self, source: &Connection, progress: Progress<'_>) -> Result<Connection, StoreError> {
        let mut copy = Connection::open(self.path()).map_err(copying)?;
        // It is synced once, when it is whole.
        copy.pragma_update(None, "synchronous", "OFF").map_err(copying)?;
        let snapshot = source.unchecked_transaction().map_err(copying)?;
        snapshot
            .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .map_err(copying)?;
        let backup = Backup::new(&snapshot, &mut copy).map_err(copying)?;
        loop {
            let step = backup.step(PAGES_AT_ONCE).map_err(copying)?;
            let now = backup.progress();
            progress((now.pagecount - now.remaining).max(0) as u64, now.pagecount.max(0) as u64);
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => std::thread::sleep(RETRIED_AFTER),
            }
        }
        drop(backup);
        // One file holds it all, which can be moved and read anywhere.
        copy.pragma_update(None, "journal_mode", "DELETE").map_err(writing)?;
        Ok(copy)
    }

    /// Answers its length in bytes.
    fn put_in_place(self, connection: Connection) -> Result<u64, BackupError> {
        connection.close().map_err(|(_, error)| writing(error))?;
        let put = || {
            let copy = File::open(self.path())?;
            give_to_owner(&copy, parent(&self.place))?;
            copy.sync_all()?;
            let length = copy.metadata()?.len();
            TempPath::try_from_path(self.path())?.persist_noclobber(&self.place)?;
            File::open(parent(&self.place))?.sync_all()?;
            Ok(length)
        };
        put().map_err(|source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists { path: self.place.clone() },
            _ => BackupError::File { path: self.place.clone(), source },
        })
    }
}

fn refuse_existing(path: &Path) -> Result<(), BackupError> {
    match path.symlink_metadata() {
        Ok(_) => Err(BackupError::Exists { path: path.to_path_buf() }),
        Err(_) => Ok(()),
    }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn copying(source: rusqlite::Error) -> StoreError {
    StoreError::Sqlite { doing: "copied", source }
}
