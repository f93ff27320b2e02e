//! Opens connections to the store's file, runs transactions on them, and converts their errors.

use super::write_access::WriteGuard;
use crate::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// SQLite's busy timeout, which applies while a store is opened and migrated. Later writes wait in
/// [`WriteGuard`].
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of statements that a connection caches: enough for all statements of a server.
const PREPARED_STATEMENTS: usize = 32;

/// Opens a connection to the store in this file. Creates the file if it is missing.
pub fn connect(path: &Path) -> rusqlite::Result<Connection> {
    connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// Opens a connection with these flags.
pub fn connect_with(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// Waits for the writes of other processes and runs `work` in one transaction. On an error nothing
/// has changed, unless the store's files were removed or replaced.
pub fn in_transaction<T>(
    writer: &mut WriteGuard<'_>,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let commit_work = || {
        let transaction = writer.begin()?;
        let result = work(&transaction)?;
        transaction.commit()?;
        writer.require_in_place()?;
        writer.checkpoint_if_due();
        Ok(result)
    };
    let result = commit_work().map_err(doing("written"));
    if let Err(error) = &result {
        writer.handle_error(error);
    }
    result
}

/// Reports the error as a failed read, because most errors are of reads. For other actions,
/// `doing` replaces the word `read`.
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        StoreError::Engine { doing: "read", source: Box::new(source) }
    }
}

/// Replaces the failed action in an engine's error by `participle`, such as `written`.
pub fn doing(participle: &'static str) -> impl FnOnce(StoreError) -> StoreError {
    move |error| match error {
        StoreError::Engine { source, .. } => StoreError::Engine { doing: participle, source },
        other => other,
    }
}
