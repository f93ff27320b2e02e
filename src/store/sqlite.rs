//! The embedded store: one SQLite file in the data directory, which the server
//! and the operator's commands open at the same time.
//!
//! WAL, so that readers never wait for a writer; `synchronous=FULL`, so that a
//! commit is on the disk before it is answered.

mod operator;
mod schema;
mod serving;

pub use operator::{
    Account, ImportOutcome, IssuedKey, KeyRecord, LONGEST_OVERLAP, NewKey, NewOrder, Rotation,
    StoredOrder,
};

use super::{StoreError, Versions};
use rusqlite::{Connection, OpenFlags};
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

/// The versions as last read, and SQLite's mark of whether anybody has
/// committed since.
#[derive(Debug)]
struct Checker {
    connection: Connection,
    data_version: i64,
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
        let mut checker =
            Checker { connection: connect(&path)?, data_version: 0, versions: Versions::default() };
        checker.read(0)?;
        Ok(SqliteStore {
            writer: Mutex::new(writer),
            scanner: Mutex::new(connect(&path)?),
            reader: Mutex::new(connect(&path)?),
            checker: Mutex::new(checker),
            path,
        })
    }

    /// The file that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Checker {
    /// Any commit by another connection changes `data_version`, which costs no
    /// read of the file; only then are the versions read again.
    fn versions(&mut self) -> Result<Versions, StoreError> {
        let data_version = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .map_err(reading)?;
        if data_version != self.data_version {
            self.read(data_version)?;
        }
        Ok(self.versions)
    }

    fn read(&mut self, data_version: i64) -> Result<(), StoreError> {
        self.versions = read_versions(&self.connection)?;
        self.data_version = data_version;
        Ok(())
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
