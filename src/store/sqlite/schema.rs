//! The schema and its versions: what a store of each version needs to become one
//! of the next.

use super::{StoreError, opening};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// "stor", in the file's header: tells our files from other SQLite files.
const APPLICATION_ID: i64 = 0x7374_6f72;

/// Each brings a store of the version of its position to the next.
const MIGRATIONS: [&str; 1] = [include_str!("schema_1.sql")];

/// Sets the connection's modes and carries out the migrations that are missing.
pub fn bring_up_to_date(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    let version = version_of(connection, path)?;
    if version > known {
        return Err(StoreError::Newer { path: path.to_path_buf(), found: version, known });
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(opening)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(opening)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(opening)?;
    if version == known {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(opening)?;
    // Another process may have been quicker.
    let version: i64 =
        transaction.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(opening)?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(migration).map_err(opening)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(opening)?;
    transaction.pragma_update(None, "user_version", known).map_err(opening)?;
    transaction.commit().map_err(opening)
}

/// Refuses a file that holds no store, or one that this program does not know.
pub fn require_known(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    match version_of(connection, path)? {
        0 => Err(StoreError::Foreign { path: path.to_path_buf() }),
        found if found > known => Err(StoreError::Newer { path: path.to_path_buf(), found, known }),
        _ => Ok(()),
    }
}

/// The version of the schema in the file: 0 in a new one.
fn version_of(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let foreign = || StoreError::Foreign { path: path.to_path_buf() };
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(|error| {
            match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase) => foreign(),
                _ => opening(error),
            }
        })
    };
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let objects: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(opening)?;
    let new = application == 0 && version == 0 && objects == 0;
    if application == APPLICATION_ID || new { Ok(version) } else { Err(foreign()) }
}
