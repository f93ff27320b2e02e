//! The SQLite database in the limits file: opened, checked, read, written.

use crate::limits::sharded_map::Change;
use crate::limits::snapshot::LimitsSnapshot;
use crate::limits::strikes::Strikes;
use crate::limits::timestamp::Timestamp;
use crate::limits::window::{AccountWindows, FixedWindow};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, Transaction,
    TransactionBehavior,
};
use std::path::Path;
use std::time::Duration;

/// "lims", in the file's header: tells a limits file from other SQLite files.
const APPLICATION_ID: i64 = 0x6c69_6d73;
const SCHEMA_VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");

/// How long to wait for another process that has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Both times at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedClock {
    pub persistent_nanos: i64,
    pub wall_nanos: i64,
}

/// The content of the file.
#[derive(Debug)]
pub struct SavedLimits {
    /// `None` in a new file.
    pub clock: Option<SavedClock>,
    /// In persistent monotonic time.
    pub limits: LimitsSnapshot,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Its content is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// The disk, the permissions or another process prevent it.
    #[error("cannot read or write the limits file")]
    Unavailable(#[source] rusqlite::Error),
    /// The file is damaged and could not be renamed.
    #[error("cannot rename the damaged limits file")]
    NotQuarantined(#[source] std::io::Error),
}

impl From<rusqlite::Error> for DatabaseError {
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
            ) => DatabaseError::Unavailable(error),
            _ => DatabaseError::Damaged(error.to_string()),
        }
    }
}

/// An open file whose content is sound.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
}

impl Database {
    /// Opens the file, which is created if missing, checks it and reads all of it.
    pub fn open(path: &Path) -> Result<(Database, SavedLimits), DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let mut database = Database { connection };
        database.create_tables()?;
        database.check()?;
        // FULL: a crash of the machine, too, may lose at most a second of counting.
        database.connection.pragma_update(None, "journal_mode", "WAL")?;
        database.connection.pragma_update(None, "synchronous", "FULL")?;
        let saved = database.read()?;
        Ok((database, saved))
    }

    /// Creates the tables in a new file.
    fn create_tables(&mut self) -> Result<(), DatabaseError> {
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

    fn check(&self) -> Result<(), DatabaseError> {
        let pragma =
            |name: &str| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if (pragma("application_id")?, pragma("user_version")?) != (APPLICATION_ID, SCHEMA_VERSION)
        {
            return Err(DatabaseError::Damaged("not a limits file of this version".to_string()));
        }
        let result: String =
            self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if result == "ok" { Ok(()) } else { Err(DatabaseError::Damaged(result)) }
    }

    fn read(&self) -> Result<SavedLimits, DatabaseError> {
        let clock = self
            .connection
            .query_row("SELECT counting, wall FROM clock", [], |row| {
                Ok(SavedClock { persistent_nanos: row.get(0)?, wall_nanos: row.get(1)? })
            })
            .optional()?;
        let accounts = self.rows(
            "SELECT account, minute_closes, minute_requests, day_closes, day_requests FROM accounts",
            |row| Ok(AccountWindows { minute: window(row, 1)?, day: window(row, 3)? }),
        )?;
        let keys = self.rows(
            "SELECT key, strikes_close, strikes, ban_seconds, banned_until FROM keys",
            |row| {
                Ok(Strikes {
                    closes_at: timestamp(row, 1)?,
                    count: row.get(2)?,
                    ban_seconds: row.get(3)?,
                    banned_until: timestamp(row, 4)?,
                })
            },
        )?;
        Ok(SavedLimits { clock, limits: LimitsSnapshot { accounts, keys } })
    }

    fn rows<T>(
        &self,
        select: &str,
        parse: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<Change<T>>, DatabaseError> {
        let mut statement = self.connection.prepare(select)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, Some(parse(row)?))))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Writes the limits and the clock in one transaction, which is on the disk on
    /// return. `replace_all` deletes the rows that `limits` does not name.
    pub fn write(
        &mut self,
        limits: &LimitsSnapshot,
        clock: SavedClock,
        replace_all: bool,
    ) -> Result<(), DatabaseError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if replace_all {
            transaction.execute_batch("DELETE FROM accounts; DELETE FROM keys;")?;
        }
        write_rows(
            &transaction,
            "REPLACE INTO accounts (account, minute_closes, minute_requests, day_closes, day_requests)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            "DELETE FROM accounts WHERE account = ?1",
            &limits.accounts,
            |account, AccountWindows { minute, day }| {
                let (minute_closes, day_closes) =
                    (minute.closes_at.as_nanos(), day.closes_at.as_nanos());
                (account, minute_closes, minute.requests, day_closes, day.requests)
            },
        )?;
        write_rows(
            &transaction,
            "REPLACE INTO keys (key, strikes_close, strikes, ban_seconds, banned_until)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            "DELETE FROM keys WHERE key = ?1",
            &limits.keys,
            |key, Strikes { closes_at, count, ban_seconds, banned_until }| {
                (key, closes_at.as_nanos(), *count, *ban_seconds, banned_until.as_nanos())
            },
        )?;
        transaction
            .prepare_cached("REPLACE INTO clock (only_row, counting, wall) VALUES (1, ?1, ?2)")?
            .execute([clock.persistent_nanos, clock.wall_nanos])?;
        Ok(transaction.commit()?)
    }
}

/// Replaces the rows that have a value and deletes the others.
fn write_rows<T, P: Params>(
    transaction: &Transaction<'_>,
    replace: &str,
    delete: &str,
    changes: &[Change<T>],
    columns: impl Fn(i64, &T) -> P,
) -> rusqlite::Result<()> {
    let mut replace = transaction.prepare_cached(replace)?;
    let mut delete = transaction.prepare_cached(delete)?;
    for (row, value) in changes {
        match value {
            Some(value) => replace.execute(columns(*row, value))?,
            None => delete.execute([row])?,
        };
    }
    Ok(())
}

fn timestamp(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    row.get(column).map(Timestamp::from_nanos)
}

/// The window whose closing is in this column and whose requests are in the next.
fn window(row: &Row<'_>, column: usize) -> rusqlite::Result<FixedWindow> {
    Ok(FixedWindow { closes_at: timestamp(row, column)?, requests: row.get(column + 1)? })
}
