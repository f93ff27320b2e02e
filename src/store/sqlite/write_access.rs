//! The one connection of this process that writes, and how long its callers wait for
//! other writers: the server for a few seconds, a command for a minute.
//!
//! SQLite has no queue of writers: each polls, and a server that begins its next batch
//! microseconds after the last one would be found at it by every poll of a command. So a command
//! locks a file while it waits to write, one command at a time, and a server that finds the file
//! locked pauses before its next batch. The lock is flock(2), which the system releases however
//! its holder ends. A command that is stopped while it holds the lock delays each batch by one
//! pause.

use super::open_files::OpenFiles;
use crate::private_file::private_file;
use crate::store::{COMMAND_TIMEOUT, REQUEST_TIMEOUT, StoreError};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::ffi::SQLITE_BUSY;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::fs::{File, TryLockError};
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The file in the data directory. It is never removed: only the lock on it counts.
pub const INTENT_FILE_NAME: &str = "write-intent.lock";

/// How long a batch of cancellations waits to begin.
pub const BATCH_TIMEOUT: Duration = Duration::from_secs(4);

/// How long other writes of a server wait to begin: they hold up a batch that comes meanwhile.
pub const MINOR_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

const _: () = assert!(BATCH_TIMEOUT.as_millis() < REQUEST_TIMEOUT.as_millis());

/// How often a waiting process looks again.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How long the server pauses for a command, which polls three times meanwhile.
const PAUSE: Duration = Duration::from_millis(3);

/// What the write-ahead log is cut back to when it starts again: a long read elsewhere, or
/// an import, may have made it grow. In bytes.
const LOG_SIZE_LIMIT: i64 = 64 * 1024 * 1024;

/// The connection that writes.
#[derive(Debug)]
pub struct WriteAccess {
    connection: Mutex<Connection>,
    /// Locked by a command that waits to write.
    intent: File,
    files: Arc<OpenFiles>,
    /// The last write found no room, and the log was not moved since.
    lacks_room: AtomicBool,
}

impl WriteAccess {
    /// Writes through this connection to the store of this directory.
    pub fn new(
        connection: Connection,
        directory: &Path,
        files: Arc<OpenFiles>,
    ) -> Result<WriteAccess, StoreError> {
        let intent = private_file(&directory.join(INTENT_FILE_NAME), directory)
            .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
        // The guard waits, not SQLite, whose pauses between attempts grow to 100 ms.
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "journal_size_limit", LOG_SIZE_LIMIT)?;
        let (connection, lacks_room) = (Mutex::new(connection), AtomicBool::new(false));
        Ok(WriteAccess { connection, intent, files, lacks_room })
    }

    /// The connection for a command.
    pub fn lock(&self) -> WriteGuard<'_> {
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        WriteGuard { connection: self.connection.lock(), access: self, deadline, is_server: false }
    }

    /// The connection for the server, whose wait for it and for other processes takes no
    /// longer than this in all.
    pub fn lock_for_server(&self, timeout: Duration) -> Result<WriteGuard<'_>, StoreError> {
        let deadline = Instant::now() + timeout;
        match self.connection.try_lock_until(deadline) {
            Some(connection) => {
                Ok(WriteGuard { connection, access: self, deadline, is_server: true })
            }
            None => Err(StoreError::Engine { doing: "written", source: Box::new(busy()) }),
        }
    }
}

/// The connection that writes, for one caller.
pub struct WriteGuard<'a> {
    connection: MutexGuard<'a, Connection>,
    access: &'a WriteAccess,
    deadline: Instant,
    is_server: bool,
}

impl WriteGuard<'_> {
    /// Begins a transaction that writes, after the writes of other processes.
    pub fn begin(&mut self) -> rusqlite::Result<Transaction<'_>> {
        let intent = &self.access.intent;
        if self.is_server {
            self.make_room()?;
            // An error of locks means that there are none: then no server pauses.
            match intent.try_lock() {
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                _ => _ = intent.unlock(),
            }
        }
        let begun = loop {
            let waits =
                !self.is_server && matches!(intent.try_lock(), Err(TryLockError::WouldBlock));
            match if waits { Err(busy()) } else { self.try_begin() } {
                Err(error) if is_busy(&error) && Instant::now() < self.deadline => {}
                Err(error) if is_busy(&error) => break Err(busy()),
                begun => break begun,
            }
            sleep(POLL_INTERVAL);
        };
        if !self.is_server {
            let _ = intent.unlock();
        }
        begun
    }

    /// Fails if the files of the store were removed or replaced: what is committed is lost.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        self.access.files.require_in_place()
    }

    /// Takes note of a write of the server that found no room. The write-ahead log may be
    /// what fills the disk, before it is so long that SQLite would checkpoint it: the log
    /// is moved into the store's file before anything more is written to it.
    pub fn failed(&self, error: &StoreError) {
        if self.is_server && has_no_room(error) {
            self.access.lacks_room.store(true, Ordering::Relaxed);
            // If there is still no room, the next write says so.
            let _ = self.make_room();
        }
    }

    fn make_room(&self) -> rusqlite::Result<()> {
        if self.access.lacks_room.load(Ordering::Relaxed) {
            self.checkpoint()?;
            self.access.lacks_room.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Moves the write-ahead log into the store's file and empties it. False if another
    /// process reads or writes, so that part of it stays.
    pub fn checkpoint(&self) -> rusqlite::Result<bool> {
        let busy: i64 = self.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(busy == 0)
    }

    fn try_begin(&self) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)
    }
}

impl Deref for WriteGuard<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for WriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// A quota or a limit on a file's length is an I/O error to SQLite, not a full disk.
fn has_no_room(error: &StoreError) -> bool {
    let StoreError::Engine { source, .. } = error else { return false };
    let code = source.downcast_ref().and_then(rusqlite::Error::sqlite_error_code);
    matches!(code, Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn busy() -> rusqlite::Error {
    let message = "another process is writing to it".to_string();
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(SQLITE_BUSY), Some(message))
}

#[cfg(test)]
mod tests {
    use super::super::SqliteStore;
    use super::super::connection::{connect, in_transaction};
    use crate::store::AccountCommands;
    use chrono::DateTime;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;
    use store_orders_api::plans::Plan;

    /// A store with an account, open for a server.
    fn store(directory: &Path) -> SqliteStore {
        let store = SqliteStore::open(directory).unwrap();
        store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
        store
    }

    fn command(directory: &Path) -> SqliteStore {
        SqliteStore::open_for_command(directory).unwrap()
    }

    /// Runs the commands against a server that begins each batch as soon as the last one
    /// is committed, and so holds the store's lock nearly all of the time. They are given
    /// its number of batches so far.
    fn beside_batches(directory: &Path, commands: impl FnOnce(&AtomicU64)) {
        let (store, batches, done) = (store(directory), AtomicU64::new(0), AtomicBool::new(false));
        let batch = || {
            let mut writer = store.writer.lock_for_server(Duration::from_secs(60)).unwrap();
            in_transaction(&mut writer, |_| {
                // As long as a disk takes to sync.
                std::thread::sleep(Duration::from_millis(5));
                Ok(())
            })
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    batch().unwrap();
                    batches.fetch_add(1, Ordering::Relaxed);
                }
            });
            // The server ends also where a command fails.
            let outcome = catch_unwind(AssertUnwindSafe(|| commands(&batches)));
            done.store(true, Ordering::Relaxed);
            outcome.unwrap();
        });
    }

    #[test]
    fn commands_in_a_loop_and_batches_alternate() {
        const COMMANDS: u64 = 8;
        const ROUNDS: u64 = 25;
        let directory = tempfile::tempdir().unwrap();
        beside_batches(directory.path(), |batches| {
            let before = batches.load(Ordering::Relaxed);
            std::thread::scope(|scope| {
                for _ in 0..COMMANDS {
                    scope.spawn(|| {
                        let command = command(directory.path());
                        for _ in 0..ROUNDS {
                            command.set_plan("acme", Plan::Pro, None).unwrap();
                        }
                    });
                }
            });
            let batches = batches.load(Ordering::Relaxed) - before;
            // How many commands fit into a pause depends on the machine: two to five were seen.
            // Without the lock a command waits for 65 batches.
            let commands = COMMANDS * ROUNDS;
            assert!((commands / 20..=5 * commands).contains(&batches), "{batches} batches");
        });
    }

    #[test]
    fn a_command_that_was_stopped_before_it_begins_fails_no_batch() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let stopped = command(directory.path());
        stopped.writer.intent.lock().unwrap();
        store.writer.lock_for_server(Duration::from_secs(60)).unwrap().begin().unwrap();
    }

    #[test]
    fn a_server_waits_once_for_its_own_writes_and_those_of_others() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let timeout = Duration::from_millis(50);
        let other = store.writer.lock();
        let error = store.writer.lock_for_server(timeout).err().unwrap();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        drop(other);

        let stopped = connect(store.path()).unwrap();
        stopped.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut writer = store.writer.lock_for_server(timeout).unwrap();
        let error = writer.begin().err().unwrap();
        assert!(super::is_busy(&error), "{error}");
        stopped.execute_batch("ROLLBACK").unwrap();
        writer.begin().unwrap();
    }
}
