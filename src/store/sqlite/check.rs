//! Whether a store is sound: SQLite's own checks, and those that only this
//! program can make. Nothing is changed, and servers go on meanwhile.

use super::{BUSY_TIMEOUT, FILE_NAME, StoreError, opening, schema};
use crate::limits::LIMITS_FILE_NAME;
pub use crate::store::OrderCounts;
use chrono::DateTime;
use rusqlite::{Connection, OpenFlags, Row};
use serde::Serialize;
use std::path::Path;

/// So many of SQLite's complaints are shown.
const COMPLAINTS: u32 = 20;

/// What a store holds, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// By status.
    pub orders: OrderCounts,
    /// How often orders have changed.
    pub orders_version: i64,
    /// How often accounts and keys have changed.
    pub keys_version: i64,
    /// Pets.
    pub pets: i64,
    /// Accounts.
    pub accounts: i64,
    /// Keys that were ever issued.
    pub keys: i64,
    /// Accounts whose requests are counted in the record beside the store: none
    /// without one.
    pub counted_accounts: Option<i64>,
    /// Empty if all is well. What could not be counted because of them is 0.
    pub problems: Vec<String>,
}

/// Examines the store of this directory and the counts beside it.
pub fn check(directory: &Path) -> Result<Findings, StoreError> {
    let store = open_existing(&directory.join(FILE_NAME), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mut findings = examine(&store);
    findings.examine_counts(&directory.join(LIMITS_FILE_NAME));
    Ok(findings)
}

/// A connection to a store that is there and is ours; unlike a server's it
/// neither creates one nor brings it up to date.
pub(super) fn open_existing(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Refused(format!("there is no store at {}", path.display())));
    }
    let connection = connect(path, access).map_err(opening)?;
    schema::require_known(&connection, path)?;
    Ok(connection)
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// The first thing that is structurally wrong with a file, if anything is.
pub(super) fn quick_check(connection: &Connection) -> Option<String> {
    match connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(verdict) => complaints_in(&verdict).next().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}

/// The complaints in a row of one of SQLite's checks: a line each, under a heading
/// that names the database.
fn complaints_in(row: &str) -> impl Iterator<Item = &str> {
    row.lines().filter(|line| *line != "ok" && !line.is_empty() && !line.starts_with("***"))
}

/// Examines a store as it stands at one moment.
pub(super) fn examine(connection: &Connection) -> Findings {
    let mut findings = Findings::default();
    // Without a transaction, each statement would see a moment of its own.
    let transaction = findings.note("a snapshot", connection.unchecked_transaction());
    let connection = transaction.as_deref().unwrap_or(connection);
    findings.examine_structure(connection);
    findings.examine_versions(connection);
    findings.examine_dates(connection);
    findings.orders = OrderCounts {
        pending: findings.count(connection, "orders WHERE status = 'pending'"),
        shipped: findings.count(connection, "orders WHERE status = 'shipped'"),
        cancelled: findings.count(connection, "orders WHERE status = 'cancelled'"),
    };
    findings.pets = findings.count(connection, "pets");
    findings.accounts = findings.count(connection, "accounts");
    findings.keys = findings.count(connection, "keys");
    findings
}

impl Findings {
    /// Pages, indexes, types and the constraints of the schema.
    fn examine_structure(&mut self, connection: &Connection) {
        let integrity = format!("PRAGMA integrity_check({COMPLAINTS})");
        let complaints = rows(connection, &integrity, |row| row.get::<_, String>(0));
        for row in self.note("its pages", complaints).unwrap_or_default() {
            self.problems.extend(complaints_in(&row).map(ToString::to_string));
        }
        let orphans = rows(connection, "PRAGMA foreign_key_check", |row| {
            let (table, row, parent): (String, Option<i64>, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let row = row.map(|row| format!(" of row {row}")).unwrap_or_default();
            Ok(format!("{table}: what is named{row} is not in {parent}"))
        });
        let orphans = self.note("references", orphans).unwrap_or_default();
        self.problems.extend(orphans.into_iter().take(COMPLAINTS as usize));
    }

    /// A server follows the versions: a row ahead of them would be seen too late
    /// or never.
    fn examine_versions(&mut self, connection: &Connection) {
        let versions = rows(connection, "SELECT orders, keys FROM versions", |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        let Some(versions) = self.note("versions", versions) else { return };
        let [(orders, keys)] = versions.as_slice() else {
            self.problems.push(format!("versions: {} rows instead of one", versions.len()));
            return;
        };
        (self.orders_version, self.keys_version) = (*orders, *keys);
        if *keys < 0 {
            self.problems.push(format!("versions: keys is at {keys}, below 0"));
        }
        let highest = connection
            .query_row("SELECT max(version) FROM orders", [], |row| row.get::<_, Option<i64>>(0));
        let highest = self.note("orders", highest).flatten().unwrap_or(0);
        if highest > *orders {
            self.problems.push(format!(
                "versions: orders is at {orders}, behind an order that changed at {highest}"
            ));
        }
    }

    /// The schema knows the outline of a date, this knows the calendar.
    fn examine_dates(&mut self, connection: &Connection) {
        const DATES: [(&str, &str, &str); 3] = [
            ("orders", "id", "ship_date"),
            ("orders", "id", "cancelled_at"),
            ("accounts", "id", "created_at"),
        ];
        for (table, id, column) in DATES {
            let query = format!("SELECT {id}, {column} FROM {table} WHERE {column} IS NOT NULL");
            let mut bad = Vec::new();
            let read = connection.prepare(&query).and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let text = row.get_ref(1)?.as_str()?;
                    let sound = text.ends_with('Z') && DateTime::parse_from_rfc3339(text).is_ok();
                    if !sound && bad.len() < COMPLAINTS as usize {
                        let id: i64 = row.get(0)?;
                        bad.push(format!("{table}: {column} of {id} is no date in UTC: {text:?}"));
                    }
                }
                Ok(())
            });
            self.problems.append(&mut bad);
            self.note(column, read);
        }
    }

    /// The record of what was counted against limits, if there is one yet.
    fn examine_counts(&mut self, path: &Path) {
        if !path.exists() {
            return;
        }
        let what = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(record) = self.note(&what, connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE))
        else {
            return;
        };
        match quick_check(&record) {
            Some(problem) => self.problems.push(format!("{what}: {problem}")),
            None => self.counted_accounts = Some(self.count(&record, "accounts")),
        }
    }

    fn count(&mut self, connection: &Connection, what: &str) -> i64 {
        let query = format!("SELECT count(*) FROM {what}");
        self.note(what, connection.query_row(&query, [], |row| row.get(0))).unwrap_or(0)
    }

    /// What cannot be read is a problem too.
    fn note<T>(&mut self, what: &str, read: rusqlite::Result<T>) -> Option<T> {
        read.map_err(|error| self.problems.push(format!("{what} cannot be read: {error}"))).ok()
    }
}

fn rows<T>(
    connection: &Connection,
    query: &str,
    of: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(query)?.query_map([], of)?.collect()
}
