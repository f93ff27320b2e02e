//! Gives callers access to the only connection of this process that writes.
//!
//! SQLite does not queue writers, so each writer polls. A busy server begins a batch microseconds
//! after the previous one, so a command would rarely find the store unlocked. A waiting command
//! therefore locks a file, which makes a server pause before each batch.
//!
//! The lock (flock(2)) also ends if the command is killed. A suspended command may keep the lock,
//! but then only delays each batch by one pause.

use super::directory::INTENT_FILE_NAME;
use super::open_files::OpenFiles;
use crate::private_file::private_file;
use crate::store::{COMMAND_TIMEOUT, REQUEST_TIMEOUT, StoreError};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::ffi::SQLITE_BUSY;
use rusqlite::{Connection, ErrorCode};
use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The maximum time that a batch of cancellations waits until it can begin.
pub const BATCH_TIMEOUT: Duration = Duration::from_secs(4);

/// The maximum time that a server's write waits until it can begin, unless the write is a batch.
/// The time is shorter than [`BATCH_TIMEOUT`], because a batch may have to wait for such a write.
pub const MINOR_WRITE_TIMEOUT: Duration = Duration::from_secs(1);

const _: () = assert!(BATCH_TIMEOUT.as_millis() < REQUEST_TIMEOUT.as_millis());

const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A server pauses this long if a command waits to write. The command polls about three times in
/// the pause, so the command probably writes next.
const PAUSE: Duration = Duration::from_millis(3);

/// When SQLite restarts the write-ahead log, it truncates a longer log to this size. Imports and
/// long reads can make the log exceed this size.
const MAX_LOG_BYTES: i64 = 64 * 1024 * 1024;

/// After this many commits, a server makes a checkpoint, so that the write-ahead log can start
/// over. A checkpoint costs three fsyncs.
///
/// A longer log slows down reads, because SQLite steps over all versions of a page in the log to
/// find the page. Without this limit, the search would take a quarter of the CPU instructions of
/// each cancellation by a single client.
const CHECKPOINT_COMMITS: u32 = 250;

#[derive(Debug)]
pub struct WriteAccess {
    connection: Mutex<Connection>,
    /// Counts the commits of the server, but not those of commands. Starts again at 0 when it
    /// reaches [`CHECKPOINT_COMMITS`].
    commits: AtomicU32,
    /// A command locks this file while it waits to write. The server then pauses before its next
    /// batch.
    intent: File,
    files: Arc<OpenFiles>,
    /// True if a write of this server failed with an error that a full disk may cause. A checkpoint
    /// in `make_room` resets this flag.
    lacks_room: AtomicBool,
}

impl WriteAccess {
    pub fn new(
        connection: Connection,
        directory: &Path,
        files: Arc<OpenFiles>,
    ) -> Result<WriteAccess, StoreError> {
        let intent = private_file(&directory.join(INTENT_FILE_NAME), directory)
            .map_err(|source| StoreError::Directory { path: directory.to_path_buf(), source })?;
        // SQLite must not wait for other writers, because the pauses between its attempts grow to
        // 100 ms. `WriteGuard` polls instead.
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
        let (connection, lacks_room) = (Mutex::new(connection), AtomicBool::new(false));
        Ok(WriteAccess { connection, commits: AtomicU32::new(0), intent, files, lacks_room })
    }

    pub fn connection_mut(&mut self) -> &mut Connection {
        self.connection.get_mut()
    }

    /// Locks the connection for a command. The command's write waits for other processes for at
    /// most [`COMMAND_TIMEOUT`], counted from this call.
    pub fn lock(&self) -> WriteGuard<'_> {
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        WriteGuard { connection: self.connection.lock(), access: self, deadline, is_server: false }
    }

    /// Locks the connection for the server. `timeout` limits the total wait for this lock and, in
    /// [`WriteGuard::begin`], for other processes.
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

pub struct WriteGuard<'a> {
    connection: MutexGuard<'a, Connection>,
    access: &'a WriteAccess,
    deadline: Instant,
    is_server: bool,
}

impl WriteGuard<'_> {
    /// Begins a transaction that writes. Waits for the writes of other processes, and fails if they
    /// last beyond the deadline. Also fails if the index of the write-ahead log was removed or
    /// replaced.
    ///
    /// If an earlier write may have found the disk full, a server first makes a checkpoint, and
    /// fails if the checkpoint fails.
    pub fn begin(&mut self) -> Result<WriteTransaction<'_>, StoreError> {
        let intent = &self.access.intent;
        if self.is_server {
            self.make_room()?;
            // If `intent` is locked, a command waits to write. The pause lets the command write
            // first. After any other error, do not pause, because the file system may not support
            // locks.
            match intent.try_lock() {
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                _ => _ = intent.unlock(),
            }
        }
        let transaction = loop {
            let waits =
                !self.is_server && matches!(intent.try_lock(), Err(TryLockError::WouldBlock));
            match if waits { Err(busy()) } else { self.try_begin() } {
                Err(error) if is_busy(&error) && Instant::now() < self.deadline => {}
                Err(error) if is_busy(&error) => break Err(busy()),
                result => break result,
            }
            sleep(POLL_INTERVAL);
        };
        if !self.is_server {
            let _ = intent.unlock();
        }
        let transaction = transaction?;
        // If the file `-shm` was replaced, this process's locks do not exclude processes that use
        // the new file, and one of them may be writing to the log. The check precedes the first
        // write, so that the rollback writes nothing and does not disturb that process.
        self.access.files.require_index()?;
        Ok(transaction)
    }

    /// Fails if the files of the store were removed, replaced or overwritten, because commits to
    /// them may be lost.
    pub fn require_in_place(&self) -> Result<(), StoreError> {
        self.access.files.require_in_place()
    }

    /// Must be called after each commit. On a server, makes a checkpoint after every
    /// [`CHECKPOINT_COMMITS`] commits. The checkpoint delays the response to the last of these
    /// commits, and the next writes.
    pub fn checkpoint_if_due(&self) {
        if !self.is_server {
            return;
        }
        // The connection is locked, so no other thread changes `commits`.
        let commits = self.access.commits.load(Ordering::Relaxed) + 1;
        let is_due = commits >= CHECKPOINT_COMMITS;
        self.access.commits.store(if is_due { 0 } else { commits }, Ordering::Relaxed);
        if is_due {
            // Ignore an error, because the commit is durable without the checkpoint. A later
            // checkpoint does the same work.
            let _ = self.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    /// Call this after a failed write. If a server's disk may be full, makes a checkpoint, because
    /// a checkpoint frees the space of the write-ahead log. An automatic checkpoint might never
    /// begin, because the log may be too short for it. If the checkpoint fails, the server repeats
    /// it before the next write.
    pub fn handle_error(&self, error: &StoreError) {
        if self.is_server && has_no_room(error) {
            self.access.lacks_room.store(true, Ordering::Relaxed);
            // Ignore an error. If the disk is still full, the next write fails and reports the
            // error.
            let _ = self.make_room();
        }
    }

    fn make_room(&self) -> Result<(), StoreError> {
        if self.access.lacks_room.load(Ordering::Relaxed) {
            self.checkpoint()?;
            self.access.lacks_room.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Moves the write-ahead log into the store's file and empties the log. Returns false if the
    /// log could not be emptied because another connection was reading or writing.
    pub fn checkpoint(&self) -> Result<bool, StoreError> {
        self.access.files.require_checkpointable()?;
        let busy: i64 = self.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        Ok(busy == 0)
    }

    fn try_begin(&self) -> rusqlite::Result<WriteTransaction<'_>> {
        self.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(WriteTransaction { connection: self })
    }
}

/// A transaction that writes. It is rolled back if it is dropped before [`Self::commit`].
///
/// rusqlite's `Transaction` is not used, because it prepares BEGIN and COMMIT each time.
pub struct WriteTransaction<'a> {
    connection: &'a Connection,
}

impl WriteTransaction<'_> {
    pub fn commit(self) -> rusqlite::Result<()> {
        self.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        // After a commit, and after an error that made SQLite roll back, no transaction is left to
        // roll back.
        if !self.is_autocommit() {
            let _ = self.execute_batch("ROLLBACK");
        }
    }
}

impl Deref for WriteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Deref for WriteGuard<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// True if the disk may be full. An I/O error counts, because SQLite reports an exceeded quota or
/// file size limit as one.
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
    use super::CHECKPOINT_COMMITS;
    use crate::store::{AccountCommands, StoreError};
    use chrono::DateTime;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Duration;
    use store_orders_api::plans::Plan;

    /// Opens a server's store, and creates the account that the tests' commands change.
    fn store(directory: &Path) -> SqliteStore {
        let store = SqliteStore::open(directory).unwrap();
        store.create_account("acme", Plan::Free, None, DateTime::UNIX_EPOCH).unwrap();
        store
    }

    fn command(directory: &Path) -> SqliteStore {
        SqliteStore::open_for_command(directory).unwrap()
    }

    /// Runs `commands` beside a server that begins each batch right after its previous commit.
    /// `commands` gets the counter of these batches.
    fn run_beside_batches(directory: &Path, commands: impl FnOnce(&AtomicU64)) {
        let (store, batches, stop) = (store(directory), AtomicU64::new(0), AtomicBool::new(false));
        let batch = || {
            let mut writer = store.writer.lock_for_server(Duration::from_secs(60)).unwrap();
            in_transaction(&mut writer, |_| {
                // Simulates the time that syncing a commit to the disk takes.
                std::thread::sleep(Duration::from_millis(5));
                Ok(())
            })
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    batch().unwrap();
                    batches.fetch_add(1, Ordering::Relaxed);
                }
            });
            // Stop the server even if a command panics, because the scope waits for the server's
            // thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| commands(&batches)));
            stop.store(true, Ordering::Relaxed);
            outcome.unwrap();
        });
    }

    #[test]
    fn commands_in_a_loop_and_batches_alternate() {
        const COMMANDS: u64 = 8;
        const ROUNDS: u64 = 25;
        let directory = tempfile::tempdir().unwrap();
        run_beside_batches(directory.path(), |batches| {
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
            // Measured: 0.2 to 0.5 batches per command, depending on the machine. Without the lock
            // on the intent file, 65 batches per command.
            let commands = COMMANDS * ROUNDS;
            assert!((commands / 20..=5 * commands).contains(&batches), "{batches} batches");
        });
    }

    fn set_keys_change(store: &SqliteStore, number: u32) {
        let mut writer = store.writer.lock_for_server(Duration::from_secs(60)).unwrap();
        let update = "UPDATE last_changes SET keys = ?1";
        in_transaction(&mut writer, |writer| Ok(writer.execute(update, [number])?)).unwrap();
    }

    #[test]
    fn the_log_restarts_after_a_number_of_commits_unless_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        store.writer.lock().pragma_update(None, "synchronous", "OFF").unwrap();
        // Each commit appends one page of 4 KiB to the log.
        let log = directory.path().join("store.sqlite-wal");
        let logged = || u32::try_from(log.metadata().unwrap().len() / 4_096).unwrap();
        let mut reader = connect(store.path()).unwrap();
        let read = reader.transaction().unwrap();
        read.query_row("SELECT keys FROM last_changes", [], |_| Ok(())).unwrap();
        (0..CHECKPOINT_COMMITS + 50).for_each(|number| set_keys_change(&store, number));
        let while_read = logged();
        assert!(while_read > CHECKPOINT_COMMITS + 50, "{while_read} pages");
        drop(read);
        (0..3 * CHECKPOINT_COMMITS).for_each(|number| set_keys_change(&store, number));
        assert!(logged() < while_read + CHECKPOINT_COMMITS, "{} pages", logged());
    }

    #[test]
    fn a_panic_rolls_the_transaction_back() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        set_keys_change(&store, 7);
        let panics = || {
            let mut writer = store.writer.lock_for_server(Duration::from_secs(60)).unwrap();
            in_transaction(&mut writer, |writer| -> Result<(), _> {
                writer.execute("UPDATE last_changes SET keys = 8", [])?;
                panic!("in the transaction")
            })
        };
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        let change =
            || store.writer.lock().query_row("SELECT keys FROM last_changes", [], |row| row.get(0));
        assert_eq!(change(), Ok(7));
        set_keys_change(&store, 9);
        assert_eq!(change(), Ok(9));
    }

    #[test]
    fn a_suspended_command_that_has_the_lock_does_not_make_batches_fail() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let stopped = command(directory.path());
        stopped.writer.intent.lock().unwrap();
        store.writer.lock_for_server(Duration::from_secs(60)).unwrap().begin().unwrap();
    }

    #[test]
    fn the_servers_timeout_covers_its_own_and_other_processes_writes() {
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
        let StoreError::Engine { source, .. } = &error else { panic!("{error}") };
        assert!(super::is_busy(source.downcast_ref().unwrap()), "{source}");
        stopped.execute_batch("ROLLBACK").unwrap();
        writer.begin().unwrap();
    }
}
