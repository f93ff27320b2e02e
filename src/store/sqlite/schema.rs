//! Checks the schema version of a store, and migrates the store to the newest version.

use super::directory::emptied;
use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;

/// "sord" in ASCII. This number in a file's header distinguishes stores from other SQLite files.
const APPLICATION_ID: i64 = 0x736f_7264;

/// "stor" in ASCII. Stores made by builds before 2.0.0 have this number in their header.
const EARLIER_APPLICATION_ID: i64 = 0x7374_6f72;

/// The migration at index n takes a store from version n to n + 1.
const MIGRATIONS: &[&str] = &[include_str!("schema_1.sql")];

pub const NEWEST: i64 = MIGRATIONS.len() as i64;

/// True if the store has the newest version that this program supports. Fails if this program is
/// too old for the store.
pub fn is_newest(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    Ok(read_known_version(connection, path)? == NEWEST)
}

/// Sets the connection's modes and applies the missing migrations. Fails unless the file is a store
/// of a supported version.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let version = read_known_version(connection, path)?;
    if version == 0 {
        return Err(emptied(path));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if version == NEWEST { Ok(()) } else { apply_missing(connection) }
}

pub fn apply_missing(connection: &mut Connection) -> Result<(), StoreError> {
    apply(connection, MIGRATIONS)
}

fn apply(connection: &mut Connection, migrations: &[&str]) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read the version again, because another process may have migrated the store.
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in migrations.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version.max(migrations.len() as i64))?;
    Ok(transaction.commit()?)
}

/// Fails if the file is not a store, or has a newer schema than this program supports.
pub fn require_known(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match read_known_version(connection, path)? {
        0 => Err(not_a_store(path)),
        _ => Ok(()),
    }
}

fn read_known_version(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    match read_version(connection, path)? {
        found if found > NEWEST => {
            Err(StoreError::Newer { path: path.to_path_buf(), found, known: NEWEST })
        }
        version => Ok(version),
    }
}

/// Reads the schema version. It is 0 in a new file without tables. Fails if another program, or a
/// build before 2.0.0, created the file.
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
    match application {
        APPLICATION_ID => Ok(version),
        EARLIER_APPLICATION_ID => Err(StoreError::earlier_build(path.display())),
        0 if version == 0 && objects == 0 => Ok(version),
        _ => Err(not_a_store(path)),
    }
}

fn not_a_store(path: &Path) -> StoreError {
    StoreError::NotAStore { path: path.to_path_buf() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row::{StoredColumn, StoredRow};
    use crate::store::sqlite::SqliteStore;
    use crate::store::sqlite::identity::store_id;
    use crate::store::{Account, Key, OperatorStore, Order, Records};
    use std::collections::BTreeMap;

    /// Statements take their columns from the descriptions of rows. With a wrong description, a
    /// statement would fail or leave out a column.
    #[test]
    fn the_descriptions_of_rows_have_the_columns_of_the_tables() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply_missing(&mut connection).unwrap();
        for (table, described, file) in [
            ("orders", Order::COLUMNS, "`Order` in src/store/order_rows.rs"),
            ("accounts", Account::COLUMNS, "`Account` in src/store/account_rows.rs"),
            ("keys", Key::COLUMNS, "`Key` in src/store/account_rows.rs"),
        ] {
            let query = "SELECT name, type FROM pragma_table_info(?1)";
            let mut columns = connection.prepare(query).unwrap();
            let columns = columns.query_map([table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
            let mut columns: BTreeMap<String, String> = columns.map(Result::unwrap).collect();
            columns.remove("change_number").unwrap();
            for StoredColumn { name, sql_type } in described {
                let expected = match *sql_type {
                    "text" => "TEXT",
                    "bytea" => "BLOB",
                    _ => "INTEGER",
                };
                assert_eq!(
                    columns.remove(*name).as_deref(),
                    Some(expected),
                    "{file} has the column {name} of the type {sql_type}: add it to the table \
                     {table} in a migration"
                );
            }
            assert!(
                columns.is_empty(),
                "a migration adds these columns to {table}: add them to {file}: {columns:?}"
            );
        }
    }

    #[test]
    fn the_next_migration_keeps_a_stores_rows_and_id() {
        const NEXT: &str = "ALTER TABLE orders ADD COLUMN added TEXT NOT NULL DEFAULT 'none'";
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[Order::pending(7)]), false).unwrap();
        let path = store.path().to_path_buf();
        drop(store);
        let mut connection = Connection::open(&path).unwrap();
        let id = store_id(&connection).unwrap();
        let migrations = [MIGRATIONS, &[NEXT]].concat();
        // In the second round, the database already has all migrations, so nothing may change.
        for _ in 0..2 {
            apply(&mut connection, &migrations).unwrap();
            let row = connection.query_row("SELECT id, added FROM orders", [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            });
            assert_eq!(row.unwrap(), (7, "none".to_string()));
            assert_eq!(store_id(&connection).unwrap(), id);
            assert_eq!(read_version(&connection, &path).unwrap(), NEWEST + 1);
        }
        let refused = SqliteStore::open(directory.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
        let refused = is_newest(&connection, &path).unwrap_err();
        assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
        // A program must not lower the schema version of a store that is newer than the program.
        apply_missing(&mut connection).unwrap();
        assert_eq!(read_version(&connection, &path).unwrap(), NEWEST + 1);
    }
}
