//! The embedded store: one SQLite file in the data directory, which the server and
//! the operator's commands open at the same time.
//!
//! WAL, so that readers never wait for a writer; `synchronous=FULL`, so that a commit
//! is on the disk before it is acknowledged.
//!
//! | File | Its job |
//! |---|---|
//! | `serving` | the [`Store`](super::Store) trait: what a running server asks |
//! | `orders`, `import`, `accounts`, `keys` | what the operator's commands ask |
//! | `check`, `backup` | whether a store is sound; backup and restore |
//! | `versions`, `wal_index` | the versions, and the cheap test for a new commit |
//! | `schema`, `schema_1.sql`, `schema_2.sql` | the tables and their migrations |
//! | `identity` | the id of a store, and the new one after a restore |
//! | `connection`, `columns` | connections and transactions; columns that hold words |
//! | `server_lock`, `directory` | one server per data directory; its files' owner |

mod accounts;
mod backup;
mod check;
mod columns;
mod connection;
mod directory;
mod identity;
mod import;
mod keys;
mod orders;
mod schema;
mod server_lock;
mod serving;
mod versions;
mod wal_index;

pub use backup::{BackupError, CopyProgress, back_up, restore};
pub use check::check;
pub use server_lock::{LockError, ServerLock};

use super::StoreError;
use connection::{connect, doing};
use directory::FILE_NAME;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use versions::VersionChecker;

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// The one connection of this process that writes.
    writer: Mutex<Connection>,
    /// Long reads: changed orders, all keys.
    scanner: Mutex<Connection>,
    /// Reads of single rows.
    reader: Mutex<Connection>,
    /// Reads the versions and nothing else, so that no call holds it for long.
    versions: Mutex<VersionChecker>,
}

impl SqliteStore {
    /// Opens the store of this directory, creating it if missing, and migrates its
    /// schema.
    pub fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
        directory::create(directory)
            .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
        SqliteStore::open_file(directory.join(FILE_NAME)).map_err(doing("opened"))
    }

    fn open_file(path: PathBuf) -> Result<SqliteStore, StoreError> {
        let mut writer = connect(&path)?;
        schema::migrate(&mut writer, &path)?;
        Ok(SqliteStore {
            writer: Mutex::new(writer),
            scanner: Mutex::new(connect(&path)?),
            reader: Mutex::new(connect(&path)?),
            versions: Mutex::new(VersionChecker::open(&path)?),
            path,
        })
    }

    /// The file that holds it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
