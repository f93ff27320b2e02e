//! Whether the structure of a store is damaged, found out while it is served.

use crate::store::{GivesUp, StoreError};
use rusqlite::{Connection, ErrorCode};

/// How many steps SQLite makes between two questions whether to give up: a millisecond.
const STEPS: i32 = 1_000;

/// The first structural problem, if there is one; an error once `gives_up` returns true.
pub fn quick_check_until(
    mut connection: Connection,
    gives_up: GivesUp,
) -> Result<Option<String>, StoreError> {
    connection.progress_handler(STEPS, Some(gives_up))?;
    outcome(connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)))
}

/// The problems in a row of one of SQLite's checks: a line each, under a heading that
/// names the database.
pub fn problems_in(row: &str) -> impl Iterator<Item = &str> {
    row.lines().filter(|line| *line != "ok" && !line.is_empty() && !line.starts_with("***"))
}

fn outcome(found: rusqlite::Result<String>) -> Result<Option<String>, StoreError> {
    match found {
        Ok(found) if found == "ok" => Ok(None),
        Ok(found) => Ok(Some(problems_in(&found).next().unwrap_or(&found).to_string())),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Ok(Some(error.to_string()))
            }
            Some(ErrorCode::OperationInterrupted) => {
                Err(StoreError::Refused("the check took too long and was ended".to_string()))
            }
            _ => Err(StoreError::Engine { doing: "checked", source: error.into() }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{NewOrder, OperatorStore, Records};
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn store(directory: &Path, orders: i64) -> SqliteStore {
        let store = SqliteStore::open(directory).unwrap();
        let orders: Vec<_> = (1..=orders).map(NewOrder::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        store
    }

    fn check(directory: &Path, gives_up: fn() -> bool) -> Result<Option<String>, StoreError> {
        let connection = Connection::open(directory.join("store.sqlite")).unwrap();
        quick_check_until(connection, Box::new(gives_up))
    }

    #[test]
    fn a_torn_page_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (store, path) = (store(directory.path(), 1_000), directory.path().join("store.sqlite"));
        assert_eq!(check(directory.path(), || false).unwrap(), None);
        let leaf: i64 = {
            let connection = Connection::open(&path).unwrap();
            let query = "SELECT rootpage FROM sqlite_schema WHERE name = 'orders_by_version'";
            connection.query_row(query, [], |row| row.get(0)).unwrap()
        };
        drop(store);
        // The first half of the page is that of another one.
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut half = [0; 2048];
        file.read_exact_at(&mut half, 4096).unwrap();
        file.write_all_at(&half, (leaf as u64 - 1) * 4096).unwrap();
        let found = check(directory.path(), || false).unwrap();
        assert!(found.is_some_and(|damage| !damage.is_empty()));
    }

    #[test]
    fn a_check_that_takes_too_long_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        store(directory.path(), 10_000);
        let ended = check(directory.path(), || true).unwrap_err();
        assert!(ended.to_string().contains("took too long"), "{ended}");
    }
}
