//! The embedded store: one SQLite file in the data directory. The server and the operator's
//! commands can have it open at the same time.
//!
//! The store uses WAL, so that readers never wait for a writer, and `synchronous=FULL`, so that a
//! commit is on the disk before it is acknowledged.
//!
//! | File | Its job |
//! |---|---|
//! | `server_store` | implements [`Store`](super::Store) for a running server |
//! | `operator_store` | implements [`OperatorStore`](super::OperatorStore) for the operator's commands |
//! | `check`, `backup`, `replacement` | the checks of `store-orders check`; backup and restore; sets a replaced store aside |
//! | `damage` | the structure check while a server runs |
//! | `last_changes` | the numbers of the last changes, and a cheap test for new commits |
//! | `schema`, `schema_*.sql` | the tables and their migrations |
//! | `identity` | the id of a store, and a new id after a restore |
//! | `connection`, `shared_statements` | connections and transactions; the statements of both engines |
//! | `open_files`, `store_header` | detects that open files were removed, replaced or overwritten |
//! | `write_access` | the connection that writes; server and commands take turns |
//! | `server_lock`, `directory` | one server per data directory; the store's file in it |

mod backup;
mod check;
mod connection;
mod damage;
mod directory;
mod identity;
mod last_changes;
mod open_files;
mod operator_store;
mod replacement;
mod schema;
mod server_lock;
mod server_store;
mod shared_statements;
mod store_header;
mod write_access;

pub use backup::{CopyProgress, back_up, replace, restore};
pub use check::check;
pub use directory::exists;
pub use server_lock::{ServerLock, running_server};

use super::StoreError;
use backup::create_store;
use connection::{connect, doing};
use directory::{FILE_NAME, existing_store, explain_unwritable, require_no_traces};
use last_changes::CachedLastChanges;
use open_files::OpenFiles;
use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use server_lock::keep_servers_away;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use store_header::StoreHeader;
use write_access::WriteAccess;

const CHECKPOINT_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A commit of the server attempts a checkpoint if the write-ahead log has this many pages (about
/// 16 MB). The number is four times SQLite's default, because an attempt adds two fsyncs and often
/// cannot finish.
///
/// If batches are small, [`write_access`] makes checkpoints earlier.
const CHECKPOINT_PAGES: i64 = 4_000;

/// The embedded store. Clones share it, because work on a blocking thread must own its store.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<OpenStore>);

#[derive(Debug)]
pub struct OpenStore {
    path: PathBuf,
    /// The only connection of this process that writes.
    writer: WriteAccess,
    /// Reads all orders, or those that changed after a position. Either read may take long.
    scanner: Mutex<Connection>,
    /// Reads keys. If this connection were shared with long reads of orders, reads of keys would
    /// wait and cached keys would expire.
    keys: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// Reads only the last changes, so that its lock is never held for long.
    last_changes: Mutex<CachedLastChanges>,
    files: Arc<OpenFiles>,
    /// Damage found while reading the orders.
    damage: OnceLock<String>,
}

impl SqliteStore {
    /// Opens the store in this directory. Creates a missing store and migrates an older one. The
    /// caller must have the server lock, or be the only process that uses the store. On writes
    /// through this store, SQLite does not check CHECK constraints.
    pub fn open(directory: &Path) -> Result<SqliteStore, StoreError> {
        create_if_missing(directory)?;
        let path = existing_store(directory)?;
        let open = || {
            let header = open_header(&path)?;
            let mut writer = connect(&path)?;
            writer.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
            schema::migrate(&mut writer, &path)?;
            // A server's own writes always satisfy the CHECK constraints. Checking would take about
            // a tenth of a cancellation's time.
            writer.pragma_update(None, "ignore_check_constraints", true)?;
            SqliteStore::with(directory, writer, header)
        };
        open().map_err(doing("opened")).map_err(|error| explain_unwritable(directory, error))
    }

    /// Opens the store for a command, as [`SqliteStore::open_existing`] does. Creates the store if
    /// it is missing.
    pub fn open_for_command(directory: &Path) -> Result<SqliteStore, StoreError> {
        create_if_missing(directory)?;
        SqliteStore::open_existing(directory)
    }

    /// Opens the store for a command. Fails if there is no store in this directory. If a server is
    /// running, leaves checkpoints to the server, and fails if the store needs a migration.
    pub fn open_existing(directory: &Path) -> Result<SqliteStore, StoreError> {
        let path = existing_store(directory)?;
        let no_server = keep_servers_away(directory);
        let open = || {
            let header = open_header(&path)?;
            let mut writer = connect(&path)?;
            if let Err(StoreError::Refused(reason)) = &no_server {
                if !schema::is_newest(&writer, &path)? {
                    return Err(StoreError::Refused(format!(
                        "the store needs a migration, but {reason}"
                    )));
                }
                writer.pragma_update(None, "wal_autocheckpoint", 0)?;
            }
            schema::migrate(&mut writer, &path)?;
            SqliteStore::with(directory, writer, header)
        };
        open().map_err(doing("opened")).map_err(|error| explain_unwritable(directory, error))
    }

    fn with(
        directory: &Path,
        writer: Connection,
        header: StoreHeader,
    ) -> Result<SqliteStore, StoreError> {
        let path = directory.join(FILE_NAME);
        let scanner = connect(&path)?;
        // Sort in memory, because the file system for SQLite's temporary files may be full.
        scanner.pragma_update(None, "temp_store", "MEMORY")?;
        let last_changes = CachedLastChanges::open(&path)?;
        let unusable = |source| StoreError::Directory { path: directory.to_path_buf(), source };
        let files = Arc::new(OpenFiles::new(&path, header).map_err(unusable)?);
        Ok(SqliteStore(Arc::new(OpenStore {
            writer: WriteAccess::new(writer, directory, Arc::clone(&files))?,
            scanner: Mutex::new(scanner),
            keys: Mutex::new(connect(&path)?),
            reader: Mutex::new(connect(&path)?),
            last_changes: Mutex::new(last_changes),
            files,
            damage: OnceLock::new(),
            path,
        })))
    }
}

impl OpenStore {
    /// Moves the write-ahead log into the store's file and empties the log. Returns false if other
    /// connections prevent the checkpoint until the timeout.
    pub fn checkpoint(&self, timeout: Duration) -> Result<bool, StoreError> {
        let deadline = Instant::now() + timeout;
        let writer = self.writer.lock_for_server(timeout)?;
        let mut is_empty = writer.checkpoint()?;
        while !is_empty && Instant::now() < deadline {
            std::thread::sleep(CHECKPOINT_RETRY_INTERVAL);
            is_empty = writer.checkpoint()?;
        }
        Ok(is_empty)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for SqliteStore {
    type Target = OpenStore;

    fn deref(&self) -> &OpenStore {
        &self.0
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        if self.files.require_checkpointable().is_ok() {
            return;
        }
        // By default, SQLite makes a checkpoint when the last connection closes. Prevent the
        // checkpoint: the store's file was overwritten, or the log's index was removed or replaced,
        // so a checkpoint could damage the store.
        let connections = [
            self.writer.connection_mut(),
            self.scanner.get_mut(),
            self.keys.get_mut(),
            self.reader.get_mut(),
            self.last_changes.get_mut().connection_mut(),
        ];
        for connection in connections {
            // Ignore the result: the call cannot fail, because SQLite always knows this setting.
            let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }
}

fn create_if_missing(directory: &Path) -> Result<(), StoreError> {
    directory::create(directory)
        .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
    if exists(directory)? {
        return Ok(());
    }
    require_no_traces(directory)?;
    create_store(directory).or_else(|error| {
        // Ignore the error if another process has created the store since this function checked.
        if exists(directory)? { Ok(()) } else { Err(error) }
    })
}

/// Opens the header of the store's file. Fails if a backup was copied over the file while the file
/// was in use, because SQLite would apply the old write-ahead log to the backup.
fn open_header(path: &Path) -> Result<StoreHeader, StoreError> {
    let header = StoreHeader::open(path)
        .map_err(|error| StoreError::Engine { doing: "opened", source: error.into() })?;
    let log = directory::side_file(path, directory::LOG);
    if !header.uses_log() && log.metadata().is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::Unusable(format!(
            "{} was overwritten while it was in use, and {} belongs to the store before: restore a \
             backup with `store-orders restore --replace`",
            path.display(),
            log.display()
        )));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_leave_migrations_and_checkpoints_to_a_running_server() {
        let directory = tempfile::tempdir().unwrap();
        let open = || SqliteStore::open_for_command(directory.path());
        let pragma = |store: &SqliteStore, name: &str| -> i64 {
            store.writer.lock().pragma_query_value(None, name, |row| row.get(0)).unwrap()
        };
        let lock = ServerLock::take(directory.path()).unwrap();
        drop(open().unwrap());
        let set_version = |version: i64| {
            let connection = Connection::open(directory.path().join(FILE_NAME)).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
        };
        set_version(schema::NEWEST - 1);
        let refusal = open().unwrap_err().to_string();
        let named = format!("a server (pid {}) has the store", std::process::id());
        assert!(refusal.contains("migration") && refusal.contains(&named), "{refusal}");
        set_version(schema::NEWEST);
        let server = SqliteStore::open(directory.path()).unwrap();
        let settings = |store: &SqliteStore| {
            ["wal_autocheckpoint", "journal_size_limit", "ignore_check_constraints"]
                .map(|name| pragma(store, name))
        };
        assert_eq!(settings(&server), [CHECKPOINT_PAGES, 64 << 20, 1]);
        assert_eq!(settings(&open().unwrap()), [0, 64 << 20, 0]);
        drop(lock);
        assert_eq!(settings(&open().unwrap()), [1_000, 64 << 20, 0]);
    }
}
