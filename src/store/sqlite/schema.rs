//! The schema's versions: what brings a store of each version to the next.

use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;

/// "stor", in the file's header: tells our files from other SQLite files.
const APPLICATION_ID: i64 = 0x7374_6f72;

/// Each brings a store of the version of its position to the next.
const MIGRATIONS: [&str; 1] = [include_str!("schema_1.sql")];

/// The newest version.
const NEWEST: i64 = MIGRATIONS.len() as i64;

/// Whether the store in this file needs no migration.
pub fn is_newest(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    Ok(version_of(connection, path)? == NEWEST)
}

/// Sets the connection's modes and applies the missing migrations.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let found = version_of(connection, path)?;
    if found > NEWEST {
        return Err(newer(path, found));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if found == NEWEST {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it since.
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", NEWEST)?;
    Ok(transaction.commit()?)
}

/// Refuses a file that is not a store, or is newer than this program.
pub fn require_known(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match version_of(connection, path)? {
        0 => Err(not_a_store(path)),
        found if found > NEWEST => Err(newer(path, found)),
        _ => Ok(()),
    }
}

/// The version of the schema in the file: 0 in a new one.
fn version_of(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
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
