//! Whether the structure of a store is damaged, found out while it is served.

use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often it is asked whether to give up.
const GIVE_UP_INTERVAL: Duration = Duration::from_millis(50);

/// The first structural problem, if there is one; an error once `gives_up` returns true.
pub fn quick_check_until(
    connection: &Connection,
    gives_up: &(dyn Fn() -> bool + Sync),
) -> Result<Option<String>, StoreError> {
    let interrupt = connection.get_interrupt_handle();
    let (done, is_done) = channel::<()>();
    let watch = move || {
        while is_done.recv_timeout(GIVE_UP_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if gives_up() {
                interrupt.interrupt();
            }
        }
    };
    std::thread::scope(|scope| {
        let watching = std::thread::Builder::new().name("check-watch".to_string());
        watching
            .spawn_scoped(scope, watch)
            .map_err(|error| StoreError::Engine { doing: "checked", source: error.into() })?;
        let found =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        drop(done);
        outcome(found)
    })
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
    use crate::store::{NewOrder, OperatorStore, Records, Store, Structure};
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn store(directory: &Path, orders: i64) -> SqliteStore {
        let store = SqliteStore::open(directory).unwrap();
        let orders: Vec<_> = (1..=orders).map(NewOrder::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        store
    }

    #[test]
    fn a_torn_page_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let (store, path) = (store(directory.path(), 1_000), directory.path().join("store.sqlite"));
        assert_eq!(store.quick_check(&|| false).unwrap(), Structure::Sound);
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
        let store = SqliteStore::open(directory.path()).unwrap();
        let found = store.quick_check(&|| false).unwrap();
        assert!(matches!(found, Structure::Damaged(damage) if !damage.is_empty()));
    }

    #[test]
    fn a_check_that_takes_too_long_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        // It takes longer than until the first look, unless the watching thread is late.
        let store = store(directory.path(), 200_000);
        let ended = (0..20).find_map(|_| store.quick_check(&|| true).err());
        assert!(ended.is_some_and(|error| error.to_string().contains("took too long")));
    }
}
