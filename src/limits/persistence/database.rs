//! The SQLite database in the limits file: opened, checked, read, written.

use super::saved_clock::SavedClock;
use crate::limits::sharded_map::Change;
use crate::limits::snapshot::LimitsSnapshot;
use crate::limits::strikes::Strikes;
use crate::limits::timestamp::Timestamp;
use crate::limits::window::{AccountWindows, FixedWindow};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, Transaction,
    TransactionBehavior, params,
};
use std::path::Path;
use std::time::Duration;

/// "lims", in the file's header: tells a limits file from other SQLite files.
const APPLICATION_ID: i64 = 0x6c69_6d73;

/// Each brings a file of the version of its position to the next.
const MIGRATIONS: [&str; 2] = [include_str!("schema_1.sql"), include_str!("schema_2.sql")];

/// The newest version.
const NEWEST: i64 = MIGRATIONS.len() as i64;

/// How long to wait for another process that has locked the file.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// The content of the file.
#[derive(Debug)]
pub struct SavedLimits {
    /// `None` in a new file.
    pub clock: Option<SavedClock>,
    /// In persistent monotonic time.
    pub limits: LimitsSnapshot,
}

/// Rows, and the clocks when they were saved; `None` if nothing was saved yet.
pub type Clocked<T> = Option<(SavedClock, T)>;

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// Its content is not what was written.
    #[error("{0}")]
    Damaged(String),
    /// It counts the requests of another store, whose ids mean other accounts and keys.
    #[error("the limits file belongs to another store")]
    OtherStore,
    /// The disk, the permissions or another process prevent it.
    #[error("cannot read or write the limits file")]
    Unavailable(#[source] rusqlite::Error),
    /// The file is not to be used and could not be renamed.
    #[error("cannot rename the limits file")]
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
    /// `store_id` is the id of the store whose requests it counts.
    pub fn open(path: &Path, store_id: &str) -> Result<(Database, SavedLimits), DatabaseError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let mut database = Database { connection };
        database.migrate()?;
        database.check()?;
        database.check_store(store_id)?;
        // FULL: a crash of the machine, too, may lose at most a second of counting.
        database.connection.pragma_update(None, "journal_mode", "WAL")?;
        database.connection.pragma_update(None, "synchronous", "FULL")?;
        let saved = database.read()?;
        Ok((database, saved))
    }

    /// Opens the file to read it alone. `None` if nothing is counted in it for this
    /// store: if it is missing, not of this version, or another store's.
    pub fn open_to_read(path: &Path, store_id: &str) -> Result<Option<Database>, DatabaseError> {
        if !path.exists() {
            return Ok(None);
        }
        // A reader of a WAL database needs its index, which it may have to create.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "query_only", true)?;
        if version_of(&connection)? != (APPLICATION_ID, NEWEST) {
            return Ok(None);
        }
        let found: Option<String> =
            connection.query_row("SELECT id FROM store", [], |row| row.get(0)).optional()?;
        Ok((found.as_deref() == Some(store_id)).then_some(Database { connection }))
    }

    /// Creates the tables in a new file, and brings those of an older version to the
    /// newest.
    fn migrate(&mut self) -> Result<(), DatabaseError> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let objects: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let found = match version_of(&transaction)? {
            (APPLICATION_ID, version @ 1..NEWEST) => version,
            _ if objects == 0 => 0,
            _ => return Ok(()),
        };
        for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", NEWEST)?;
        Ok(transaction.commit()?)
    }

    fn check(&self) -> Result<(), DatabaseError> {
        if version_of(&self.connection)? != (APPLICATION_ID, NEWEST) {
            return Err(DatabaseError::Damaged("not a limits file of this version".to_string()));
        }
        let result: String =
            self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if result == "ok" { Ok(()) } else { Err(DatabaseError::Damaged(result)) }
    }

    /// A file without an id is new, or of a version that had none.
    fn check_store(&self, store_id: &str) -> Result<(), DatabaseError> {
        self.connection.execute("INSERT OR IGNORE INTO store VALUES (1, ?1)", [store_id])?;
        let found: String =
            self.connection.query_row("SELECT id FROM store", [], |row| row.get(0))?;
        if found == store_id { Ok(()) } else { Err(DatabaseError::OtherStore) }
    }

    fn read(&self) -> Result<SavedLimits, DatabaseError> {
        let accounts = self.rows(
            "SELECT account, minute_closes, minute_requests, day_closes, day_requests FROM accounts",
            account_windows,
        )?;
        Ok(SavedLimits {
            clock: self.read_clock()?,
            limits: LimitsSnapshot { accounts, keys: self.read_strikes()? },
        })
    }

    /// The windows of one account.
    pub fn read_account(&self, account: i64) -> Result<Clocked<AccountWindows>, DatabaseError> {
        let _snapshot = self.connection.unchecked_transaction()?;
        let Some(clock) = self.read_clock()? else { return Ok(None) };
        let windows = self
            .connection
            .query_row(
                "SELECT account, minute_closes, minute_requests, day_closes, day_requests
                 FROM accounts WHERE account = ?1",
                [account],
                account_windows,
            )
            .optional()?;
        Ok(Some((clock, windows.unwrap_or_default())))
    }

    /// The strikes of all keys.
    pub fn read_keys(&self) -> Result<Clocked<Vec<Change<Strikes>>>, DatabaseError> {
        let _snapshot = self.connection.unchecked_transaction()?;
        let Some(clock) = self.read_clock()? else { return Ok(None) };
        Ok(Some((clock, self.read_strikes()?)))
    }

    fn read_clock(&self) -> rusqlite::Result<Option<SavedClock>> {
        self.connection
            .query_row("SELECT counting, wall, boot, since_boot FROM clock", [], |row| {
                let boot = row.get::<_, Option<String>>(2)?.zip(row.get(3)?);
                Ok(SavedClock { persistent_nanos: row.get(0)?, wall_nanos: row.get(1)?, boot })
            })
            .optional()
    }

    fn read_strikes(&self) -> Result<Vec<Change<Strikes>>, DatabaseError> {
        self.rows(
            "SELECT key, strikes_close, strikes, ban_seconds, banned_until, unbanned_at FROM keys",
            |row| {
                Ok(Strikes {
                    closes_at: timestamp(row, 1)?,
                    count: row.get(2)?,
                    ban_seconds: row.get(3)?,
                    banned_until: timestamp(row, 4)?,
                    unbanned_at_ms: row.get(5)?,
                })
            },
        )
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
        clock: &SavedClock,
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
            "REPLACE INTO keys
                 (key, strikes_close, strikes, ban_seconds, banned_until, unbanned_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            "DELETE FROM keys WHERE key = ?1",
            &limits.keys,
            |key, strikes| {
                let Strikes { count, ban_seconds, unbanned_at_ms, .. } = *strikes;
                let (closes, until) =
                    (strikes.closes_at.as_nanos(), strikes.banned_until.as_nanos());
                (key, closes, count, ban_seconds, until, unbanned_at_ms)
            },
        )?;
        let (boot, since_boot) =
            clock.boot.as_ref().map(|(id, since_boot)| (id, since_boot)).unzip();
        transaction
            .prepare_cached(
                "REPLACE INTO clock (only_row, counting, wall, boot, since_boot)
                 VALUES (1, ?1, ?2, ?3, ?4)",
            )?
            .execute(params![clock.persistent_nanos, clock.wall_nanos, boot, since_boot])?;
        Ok(transaction.commit()?)
    }
}

/// The application and the version of the schema that the file's header names.
fn version_of(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
    Ok((pragma("application_id")?, pragma("user_version")?))
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

/// The windows in a row of an account.
fn account_windows(row: &Row<'_>) -> rusqlite::Result<AccountWindows> {
    Ok(AccountWindows { minute: window(row, 1)?, day: window(row, 3)? })
}

/// The window whose closing is in this column and whose requests are in the next.
fn window(row: &Row<'_>, column: usize) -> rusqlite::Result<FixedWindow> {
    Ok(FixedWindow { closes_at: timestamp(row, column)?, requests: row.get(column + 1)? })
}
