//! Checks the structure of a store while a server runs.

use super::connection::doing;
use crate::store::{GivesUp, StoreError};
use rusqlite::{Connection, ErrorCode};

/// The number of SQLite's virtual-machine instructions between two calls of `gives_up`, about a
/// millisecond's work.
const STEPS: i32 = 1_000;

/// Returns the first structural problem, if there is one. Fails once `gives_up` returns true.
pub fn quick_check_until(
    mut connection: Connection,
    gives_up: GivesUp,
) -> Result<Option<String>, StoreError> {
    connection.progress_handler(STEPS, Some(gives_up))?;
    first_problem(connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)))
}

/// Returns the problems in a row that an SQLite check returned. Each line is a problem, except
/// `ok`, an empty line and the name of the database.
pub fn problems_in(row: &str) -> impl Iterator<Item = &str> {
    row.lines().filter(|line| *line != "ok" && !line.is_empty() && !line.starts_with("***"))
}

fn first_problem(row: rusqlite::Result<String>) -> Result<Option<String>, StoreError> {
    match row {
        Ok(row) if row == "ok" => Ok(None),
        Ok(row) => Ok(Some(problems_in(&row).next().unwrap_or(&row).to_string())),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            Err(StoreError::Refused("the check took too long and was ended".to_string()))
        }
        Err(error) => match doing("checked")(error.into()) {
            StoreError::Damaged(damage) => Ok(Some(damage.to_string())),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{OperatorStore, Order, Records};
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn store(directory: &Path, orders: i64) -> SqliteStore {
        let store = SqliteStore::open(directory).unwrap();
        let orders: Vec<_> = (1..=orders).map(Order::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        store
    }

    fn check(directory: &Path, gives_up: fn() -> bool) -> Result<Option<String>, StoreError> {
        let connection = Connection::open(directory.join("store.sqlite")).unwrap();
        quick_check_until(connection, Box::new(gives_up))
    }

    #[test]
    fn the_check_detects_a_torn_page() {
        let directory = tempfile::tempdir().unwrap();
        let (store, path) = (store(directory.path(), 1_000), directory.path().join("store.sqlite"));
        assert_eq!(check(directory.path(), || false).unwrap(), None);
        let leaf: i64 = {
            let connection = Connection::open(&path).unwrap();
            let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'orders_by_change'";
            connection.query_row(query, [], |row| row.get(0)).unwrap()
        };
        drop(store);
        // Overwrite half of the page, as a torn write would.
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut half = [0; 2048];
        file.read_exact_at(&mut half, 4096).unwrap();
        file.write_all_at(&half, (leaf as u64 - 1) * 4096).unwrap();
        let damage = check(directory.path(), || false).unwrap();
        assert!(damage.is_some_and(|damage| !damage.is_empty()));
    }

    #[test]
    fn the_check_fails_once_it_should_give_up() {
        let directory = tempfile::tempdir().unwrap();
        store(directory.path(), 10_000);
        let error = check(directory.path(), || true).unwrap_err();
        assert!(error.to_string().contains("took too long"), "{error}");
    }
}
