//! The embedded store: one SQLite file in the data directory, which the server
//! and the operator's commands open at the same time.
//!
//! WAL, so that readers never wait for a writer; `synchronous=FULL`, so that a
//! commit is on the disk before it is answered.

mod backup;
mod check;
mod operator;
mod schema;
mod server_lock;
mod serving;

pub use backup::{BackupError, Progress, back_up, restore};
pub use check::{Findings, OrderCounts, check};
pub use operator::{
    Account, ImportOutcome, IssuedKey, KeyRecord, LONGEST_OVERLAP, NewKey, NewOrder, Rotation,
    StoredOrder,
};
pub use server_lock::{LockError, ServerLock};

use super::{StoreError, Versions};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The file in the data directory.
pub const FILE_NAME: &str = "store.sqlite";

/// How long a writer waits for another one. An import of a million orders holds
/// the lock for well under this.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// The one connection that writes for this process.
    writer: Mutex<Connection>,
    /// Reads what takes long: every changed order, every key.
    scanner: Mutex<Connection>,
    /// Reads single rows.
    reader: Mutex<Connection>,
    /// Asks for the versions and does nothing else, so that nobody holds it long.
    checker: Mutex<Checker>,
}

/// How long the header of SQLite's WAL index is, without its copy.
const WAL_INDEX_HEADER: usize = 48;

/// The versions as last read, and the header of the WAL index as it stood then.
///
/// Every commit, by whichever process, changes that header before it returns
/// (SQLite's "WAL-mode File Format", 2.1: `iChange` counts transactions), so as
/// long as its bytes are the same nothing was committed. Reading them is one
/// system call; `PRAGMA data_version` asks the same with a statement and two
/// locking calls, which was a twelfth of a small list's instructions.
#[derive(Debug)]
struct Checker {
    connection: Connection,
    /// Never closed: a process that closes any handle to a file loses its locks
    /// on it (fcntl(2)), and SQLite's other connections in this process would
    /// lose theirs. It ends with the process.
    wal_index: ManuallyDrop<File>,
    header: [u8; WAL_INDEX_HEADER],
    versions: Versions,
}

impl SqliteStore {
    /// Opens the store of this directory, which is created at need, and brings
    /// its schema up to date.
    pub fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
        create_directory(directory)
            .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
        let path = directory.join(FILE_NAME);
        let mut writer = connect(&path)?;
        schema::bring_up_to_date(&mut writer, &path)?;
        Ok(SqliteStore {
            writer: Mutex::new(writer),
            scanner: Mutex::new(connect(&path)?),
            reader: Mutex::new(connect(&path)?),
            checker: Mutex::new(Checker::open(&path)?),
            path,
        })
    }

    /// The file that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Checker {
    fn open(path: &Path) -> Result<Checker, StoreError> {
        let connection = connect(path)?;
        let versions = read_versions(&connection)?;
        // It exists as long as a connection that has read is open: this one.
        let mut wal_index = path.as_os_str().to_owned();
        wal_index.push("-shm");
        let path = PathBuf::from(wal_index);
        let wal_index =
            File::open(&path).map_err(|source| StoreError::Directory { path, source })?;
        // No header is all zeros, so the versions are read again when asked for.
        let wal_index = ManuallyDrop::new(wal_index);
        Ok(Checker { connection, wal_index, header: [0; WAL_INDEX_HEADER], versions })
    }

    fn versions(&mut self) -> Result<Versions, StoreError> {
        let mut header = [0; WAL_INDEX_HEADER];
        let read = self.wal_index.read_exact_at(&mut header, 0);
        // If it cannot be read, SQLite is asked, and says what is wrong.
        if read.is_err() || header != self.header {
            self.versions = read_versions(&self.connection)?;
            self.header = header;
        }
        Ok(self.versions)
    }
}

fn read_versions(connection: &Connection) -> Result<Versions, StoreError> {
    connection
        .prepare_cached("SELECT orders, keys FROM versions")
        .and_then(|mut statement| {
            statement.query_row([], |row| Ok(Versions { orders: row.get(0)?, keys: row.get(1)? }))
        })
        .map_err(reading)
}

/// Makes the directory for its owner alone.
fn create_directory(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Gives a new file to whoever has its directory, if this is root: a server that
/// runs as somebody else must be able to use what root's commands leave. SQLite
/// does so with the files beside the store.
fn give_to_owner(file: &File, directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (owner, own) = (std::fs::metadata(directory)?, file.metadata()?);
    if own.uid() == 0 && owner.uid() != 0 {
        fchown(file, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(opening)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(opening)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// A connection that a panic left behind rolls its transaction back when the
/// next statement begins one, so the lock is taken all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn opening(source: rusqlite::Error) -> StoreError {
    StoreError::Sqlite { doing: "opened", source }
}

fn reading(source: rusqlite::Error) -> StoreError {
    StoreError::Sqlite { doing: "read", source }
}

fn writing(source: rusqlite::Error) -> StoreError {
    StoreError::Sqlite { doing: "written", source }
}
