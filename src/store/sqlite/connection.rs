//! Connections to the store's file, transactions on them, and their errors.

use super::write_access::WriteGuard;
use crate::store::StoreError;
use rusqlite::{Connection, OpenFlags, Transaction};
use std::path::Path;
use std::time::Duration;

/// How long a connection waits for another one where SQLite itself waits: while a store
/// is opened and migrated.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The statements that a connection keeps prepared: all that a server uses.
const PREPARED_STATEMENTS: usize = 32;

/// A connection to the store of this file, created if missing.
pub fn connect(path: &Path) -> rusqlite::Result<Connection> {
    connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// A connection with this access.
pub fn connect_with(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// Does `work` in one transaction, which waits for the writes of other processes. After
/// an error nothing is changed, unless the store's files were removed or replaced.
pub fn in_transaction<T>(
    writer: &mut WriteGuard<'_>,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let committed = || {
        let transaction = writer.begin()?;
        let result = work(&transaction)?;
        transaction.commit()?;
        writer.require_in_place()?;
        Ok(result)
    };
    let result = committed().map_err(doing("written"));
    if let Err(error) = &result {
        writer.failed(error);
    }
    result
}

/// Most statements read; `doing` renames the others.
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        StoreError::Engine { doing: "read", source: Box::new(source) }
    }
}

/// The error with what the engine was really doing, as a participle.
pub fn doing(participle: &'static str) -> impl FnOnce(StoreError) -> StoreError {
    move |error| match error {
        StoreError::Engine { source, .. } => StoreError::Engine { doing: participle, source },
        other => other,
    }
}
