//! Checks the schema version of a store and migrates it to the newest.

use super::directory::emptied;
use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;

/// "stor", in the file's header. Distinguishes stores from other SQLite files.
const APPLICATION_ID: i64 = 0x7374_6f72;

/// The migration at index n takes a store from version n to n + 1.
const MIGRATIONS: [&str; 7] = [
    include_str!("schema_1.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
];

/// The newest schema version.
pub const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Returns true if the store needs no migration.
pub fn is_newest(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    Ok(read_version(connection, path)? == NEWEST)
}

/// Sets the connection's modes and applies the missing migrations.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let version = read_version(connection, path)?;
    if version == 0 {
        return Err(emptied(path));
    }
    if version > NEWEST {
        return Err(newer(path, version));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if version == NEWEST { Ok(()) } else { apply_missing(connection) }
}

/// Applies the missing migrations.
pub fn apply_missing(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read the version again: another process may have migrated the store.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", NEWEST.max(version))?;
    Ok(transaction.commit()?)
}

/// Returns true if the store has a table with its id. Version 1 does not.
pub fn has_identity(connection: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(version >= 2)
}

/// Fails if the file is not a store, or has a newer schema than this program supports.
pub fn require_known(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match read_version(connection, path)? {
        0 => Err(not_a_store(path)),
        version if version > NEWEST => Err(newer(path, version)),
        _ => Ok(()),
    }
}

/// Reads the schema version. A new file has 0.
fn read_version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|error| {
            match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => not_a_store(path),
                _ => error.into(),
            }
        })
    };
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_new = application == 0 && version == 0 && objects == 0;
    if application == APPLICATION_ID || is_new { Ok(version) } else { Err(not_a_store(path)) }
}

fn not_a_store(path: &Path) -> StoreError {
    StoreError::NotAStore { path: path.to_path_buf() }
}

fn newer(path: &Path, found: i64) -> StoreError {
    StoreError::Newer { path: path.to_path_buf(), found, known: NEWEST }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::SqliteStore;
    use crate::store::{ChangeNumber, KeyChange, PolledKeys, Store};
    use std::sync::Arc;

    const INSERT_ROWS: &str = "
        UPDATE versions SET orders = 3, keys = 4;
        INSERT INTO orders VALUES (7, 1, 2, '2026-12-24T09:30:00Z', 0, 'pending', 1, NULL, NULL),
            (8, 1, 2, NULL, 1, 'cancelled', 3, '2026-12-24T09:30:00Z', 'key_1');
        INSERT INTO pets VALUES (1, 'Rex');
        INSERT INTO accounts VALUES (5, 'acme', 'enterprise', 10, 20, '2026-12-24T09:30:00Z');
        INSERT INTO keys VALUES (6, 'key_1', 5, 'production', zeroblob(32), 1, 2, 3, 4, NULL);";

    /// Returns every row of a table as text.
    fn rows(connection: &Connection, table: &str, columns: usize) -> Vec<String> {
        let query = format!("SELECT * FROM {table}");
        let mut statement = connection.prepare(&query).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((0..columns).map(|i| format!("{:?} ", row.get_ref(i).unwrap())).collect())
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn migrating_a_store_of_version_1_keeps_its_rows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        connection.execute_batch(MIGRATIONS[0]).unwrap();
        connection.execute_batch(INSERT_ROWS).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let tables = [("versions", 3), ("orders", 9), ("pets", 2), ("accounts", 6), ("keys", 10)];
        // These are the numbers of columns in version 1. Migrations add columns only after them.
        let all = |connection: &Connection| tables.map(|(name, n)| rows(connection, name, n));
        let before = all(&connection);
        migrate(&mut connection, &path).unwrap();
        assert_eq!(all(&connection), before);
        let version: i64 =
            connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, NEWEST);
        // The migrated store has as many tables and indexes as a new store.
        let schema = |connection: &Connection| rows(connection, "sqlite_schema", 5).len();
        let mut new = Connection::open_in_memory().unwrap();
        apply_missing(&mut new).unwrap();
        assert_eq!(schema(&connection), schema(&new));
        let id = |connection: &Connection| rows(connection, "identity", 2);
        let first = id(&connection);
        assert!(first.len() == 1 && first != id(&new), "{first:?}");
        migrate(&mut connection, &path).unwrap();
        assert_eq!(id(&connection), first);
        // A server reads only the accounts and keys that changed after the change it has seen.
        let store = Arc::new(SqliteStore::open(directory.path()).unwrap());
        let read_after = async |number| {
            let after = ChangeNumber { generation: 0, number };
            let PolledKeys { polled, changes } = store.poll_keys(Some(after)).await.unwrap();
            assert_eq!(polled.last_changes.keys, 4);
            changes
        };
        let read = read_after(0).await.unwrap();
        let [KeyChange::Account(account), KeyChange::Key(_, key)] = &read[..] else {
            panic!("{read:?}")
        };
        assert!(*account == key.account && !account.is_closed && key.is_revoked);
        assert!(read_after(4).await.is_none());
    }
}
