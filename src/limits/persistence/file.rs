//! The SQLite file that a record is in: opened or found damaged, read, written.

use crate::limits::in_memory::Counts;
use crate::limits::strikes::Strikes;
use crate::limits::table::Change;
use crate::limits::timestamp::Timestamp;
use crate::limits::window::{AccountWindows, Count};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior,
    params,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// "lims", in the file's header: tells our files from other SQLite files.
const APPLICATION_ID: i64 = 0x6c69_6d73;
const SCHEMA_VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");

/// How long to wait for another process that holds the file.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Counting time and wall time at one moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedClock {
    pub counting: i64,
    pub wall: i64,
}

/// All that a file holds. Its moments are of the counting time.
#[derive(Debug)]
pub struct Saved {
    /// None in a new file.
    pub clock: Option<SavedClock>,
    pub counts: Counts,
}

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Its content is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// The disk, the permissions or another process are in the way.
    #[error("the file cannot be used")]
    Unusable(#[source] rusqlite::Error),
    /// A damaged file cannot be renamed.
    #[error("the damaged file cannot be set aside")]
    Rename(#[source] std::io::Error),
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed,
            OutOfMemory, PermissionDenied, ReadOnly, SystemIoFailure,
        };
        match error.sqlite_error_code() {
            Some(
                CannotOpen
                | DatabaseBusy
                | DatabaseLocked
                | DiskFull
                | FileLockingProtocolFailed
                | OutOfMemory
                | PermissionDenied
                | ReadOnly
                | SystemIoFailure,
            ) => FileError::Unusable(error),
            _ => FileError::Damaged(error.to_string()),
        }
    }
}

/// An open file whose content is sound.
#[derive(Debug)]
pub struct File {
    connection: Connection,
}

impl File {
    /// Opens the file, which is created at need, checks it and reads all of it.
    pub fn open(path: &Path) -> Result<(File, Saved), FileError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let mut file = File { connection };
        file.create()?;
        file.check()?;
        // A second of counting is all that a crash may lose, of the machine too.
        file.connection.pragma_update(None, "journal_mode", "WAL")?;
        file.connection.pragma_update(None, "synchronous", "FULL")?;
        let saved = file.read()?;
        Ok((file, saved))
    }

    /// Creates the tables in a new file.
    fn create(&mut self) -> Result<(), FileError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let objects: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if objects == 0 {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), FileError> {
        let pragma =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if (pragma("application_id")?, pragma("user_version")?) != (APPLICATION_ID, SCHEMA_VERSION)
        {
            return Err(FileError::Damaged("it is no record that this version knows".to_string()));
        }
        let verdict: String =
            self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if verdict == "ok" { Ok(()) } else { Err(FileError::Damaged(verdict)) }
    }

    fn read(&self) -> Result<Saved, FileError> {
        let clock = self
            .connection
            .query_row("SELECT counting, wall FROM clock", [], |row| {
                Ok(SavedClock { counting: row.get(0)?, wall: row.get(1)? })
            })
            .optional()?;
        let accounts = self.rows(
            "SELECT account, minute_closes, minute_requests, day_closes, day_requests FROM accounts",
            |row| Ok(AccountWindows { minute: count(row, 1)?, day: count(row, 3)? }),
        )?;
        let keys = self.rows(
            "SELECT key, strikes_close, strikes, ban_seconds, banned_until FROM keys",
            |row| {
                Ok(Strikes {
                    closes: moment(row, 1)?,
                    count: row.get(2)?,
                    ban_seconds: row.get(3)?,
                    banned_until: moment(row, 4)?,
                })
            },
        )?;
        Ok(Saved { clock, counts: Counts { accounts, keys } })
    }

    fn rows<T>(
        &self,
        select: &str,
        of: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<Change<T>>, FileError> {
        let mut statement = self.connection.prepare(select)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, Some(of(row)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Writes these counts and the clock in one transaction, which is on the disk
    /// on return; `instead` of all that is there, or over the rows they name.
    pub fn write(
        &mut self,
        counts: &Counts,
        clock: SavedClock,
        instead: bool,
    ) -> Result<(), FileError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if instead {
            transaction.execute_batch("DELETE FROM accounts; DELETE FROM keys;")?;
        }
        write_accounts(&transaction, &counts.accounts)?;
        write_keys(&transaction, &counts.keys)?;
        transaction
            .prepare_cached("REPLACE INTO clock (only_row, counting, wall) VALUES (1, ?1, ?2)")?
            .execute(params![clock.counting, clock.wall])?;
        Ok(transaction.commit()?)
    }
}

fn write_accounts(
    transaction: &Transaction<'_>,
    accounts: &[Change<AccountWindows>],
) -> rusqlite::Result<()> {
    let mut replace = transaction.prepare_cached(
        "REPLACE INTO accounts
            (account, minute_closes, minute_requests, day_closes, day_requests)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut delete = transaction.prepare_cached("DELETE FROM accounts WHERE account = ?1")?;
    for (account, windows) in accounts {
        match windows {
            Some(AccountWindows { minute, day }) => replace.execute(params![
                account,
                minute.closes.nanoseconds(),
                minute.requests,
                day.closes.nanoseconds(),
                day.requests
            ])?,
            None => delete.execute([account])?,
        };
    }
    Ok(())
}

fn write_keys(transaction: &Transaction<'_>, keys: &[Change<Strikes>]) -> rusqlite::Result<()> {
    let mut replace = transaction.prepare_cached(
        "REPLACE INTO keys (key, strikes_close, strikes, ban_seconds, banned_until)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut delete = transaction.prepare_cached("DELETE FROM keys WHERE key = ?1")?;
    for (key, strikes) in keys {
        match strikes {
            Some(strikes) => replace.execute(params![
                key,
                strikes.closes.nanoseconds(),
                strikes.count,
                strikes.ban_seconds,
                strikes.banned_until.nanoseconds()
            ])?,
            None => delete.execute([key])?,
        };
    }
    Ok(())
}

fn moment(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::of_nanoseconds)
}

/// The moment in this column and the requests in the next.
fn count(row: &Row<'_>, first: usize) -> rusqlite::Result<Count> {
    Ok(Count { closes: moment(row, first)?, requests: row.get(first + 1)? })
}

/// Renames a damaged file and what SQLite keeps beside it, so that it can be
/// looked into, and returns its new name.
pub fn set_aside(path: &Path, unix_seconds: u64) -> Result<PathBuf, FileError> {
    let named = |end: String| -> PathBuf {
        let mut name = OsString::from(path);
        name.push(end);
        PathBuf::from(name)
    };
    let aside = (1..)
        .map(|number| match number {
            1 => named(format!(".damaged-{unix_seconds}")),
            _ => named(format!(".damaged-{unix_seconds}-{number}")),
        })
        .find(|name| !name.exists())
        .unwrap_or_else(|| named(".damaged".to_string()));
    for beside in ["-wal", "-shm"] {
        let mut to = OsString::from(&aside);
        to.push(beside);
        match std::fs::rename(named(beside.to_string()), to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(FileError::Rename(error));
            }
            _ => {}
        }
    }
    std::fs::rename(path, &aside).map_err(FileError::Rename)?;
    Ok(aside)
}
