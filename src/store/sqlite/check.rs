//! Checks the soundness of a store with SQLite's checks and our own. Does not change the store;
//! servers can keep running.

use super::connection::{STORE_ACCESS, connect_with, doing};
use super::damage::problems_in;
use super::directory::{existing_store, explain_unwritable, is_readable};
use super::last_changes::{SELECT_LAST_CHANGES, last_changes_in};
use super::schema;
use crate::store::operator_store::{MAX_PROBLEMS, check_rows};
use crate::store::{CheckReport, StoreError};
use rusqlite::{Connection, OpenFlags, Row};
use std::path::Path;

pub fn check(directory: &Path) -> Result<CheckReport, StoreError> {
    Ok(examine(&open_existing(&existing_store(directory)?, STORE_ACCESS)?))
}

/// Opens a connection to an existing store, without migrating it.
pub fn open_existing(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let exists = is_readable(path)
        .map_err(|error| StoreError::Engine { doing: "opened", source: error.into() })?;
    if !exists {
        return Err(StoreError::NoStore(path.to_path_buf()));
    }
    let open = || {
        let connection = connect_with(path, access)?;
        schema::require_known(&connection, path)?;
        Ok(connection)
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    open().map_err(doing("opened")).map_err(|error| explain_unwritable(directory, error))
}

/// Returns the first structural problem of the store, or the error if the check cannot run.
pub fn quick_check(connection: &Connection) -> Option<String> {
    match connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(row) => problems_in(&row).next().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    }
}

/// Runs all checks. The checks do not share a snapshot, because a server's write-ahead log cannot
/// be emptied while a snapshot is open. Each of SQLite's own checks still needs one snapshot (see
/// [`crate::damage_check`]).
pub fn examine(connection: &Connection) -> CheckReport {
    let mut report = CheckReport::default();
    check_structure(&mut report, connection);
    check_references(&mut report, connection);
    check_change_numbers(&mut report, connection);
    check_identity(&mut report, connection);
    check_rows(&mut report, connection);
    report
}

/// Checks pages, indexes, types, and all constraints except references to other tables.
fn check_structure(report: &mut CheckReport, connection: &Connection) {
    let query = format!("PRAGMA integrity_check({MAX_PROBLEMS})");
    let rows = rows(connection, &query, |row| row.get::<_, String>(0));
    for row in report.read("its pages", rows).unwrap_or_default() {
        report.problems.extend(problems_in(&row).map(ToString::to_string));
    }
}

fn check_references(report: &mut CheckReport, connection: &Connection) {
    let dangling = rows(connection, "PRAGMA foreign_key_check", |row| {
        let (table, row, parent): (String, Option<i64>, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let row = row.map(|row| format!("row {row} ")).unwrap_or_default();
        Ok(format!("{table}: {row}refers to a row that is not in {parent}"))
    });
    let dangling = report.read("references", dangling).unwrap_or_default();
    report.problems.extend(dangling.into_iter().take(MAX_PROBLEMS));
}

fn check_change_numbers(report: &mut CheckReport, connection: &Connection) {
    // Read all numbers in one transaction. Without it, a change between two statements would make a
    // correct row's number seem too high.
    let transaction = report.read("a snapshot", connection.unchecked_transaction());
    let connection = transaction.as_deref().unwrap_or(connection);
    let last_changes = rows(connection, SELECT_LAST_CHANGES, last_changes_in);
    let Some(last_changes) = report.read("last_changes", last_changes) else { return };
    let highest = |table: &str| {
        let query = format!("SELECT coalesce(max(change_number), 0) FROM {table}");
        connection.query_row(&query, [], |row| row.get(0))
    };
    let [in_orders, in_keys, in_accounts] =
        ["orders", "keys", "accounts"].map(|table| report.read(table, highest(table)).unwrap_or(0));
    report.check_change_numbers("last_changes", &last_changes, in_orders, in_keys, in_accounts);
}

fn check_identity(report: &mut CheckReport, connection: &Connection) {
    let rows = connection.query_row("SELECT count(*) FROM identity", [], |row| row.get(0));
    if let Some(rows) = report.read("identity", rows) {
        report.require_one_row("identity", rows);
    }
}

fn rows<T>(
    connection: &Connection,
    query: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(query)?.query_map([], read)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{OperatorStore, Order, Records};

    #[test]
    fn the_snapshot_of_the_structures_check_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut connection = open_existing(store.path(), access).unwrap();
        // The first call imports an order during the structure check. The later count must include
        // the order, because the checks do not share a snapshot.
        let change = move || {
            store.import(Records::Orders(&[Order::pending(1)]), true).unwrap();
            false
        };
        connection.progress_handler(50, Some(change)).unwrap();
        let report = examine(&connection);
        assert_eq!(
            (report.problems, report.orders.map(|orders| orders.pending)),
            (vec![], Some(1))
        );
    }
}
