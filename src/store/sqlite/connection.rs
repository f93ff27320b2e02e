//! Opens connections to the store's file, runs transactions on them, and converts their errors.

use super::write_access::WriteGuard;
use crate::store::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long SQLite waits for a lock, for example during a migration. Writes to an open store wait
/// in [`WriteGuard`] instead.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of statements that a connection caches. It is large enough for all statements of a
/// server.
const PREPARED_STATEMENTS: usize = 32;

/// The flags for a store. With them, SQLite neither creates a missing store nor follows a symbolic
/// link.
pub const STORE_ACCESS: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

pub fn connect(path: &Path) -> rusqlite::Result<Connection> {
    connect_with(path, STORE_ACCESS)
}

pub fn connect_with(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let access = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(resolve_directory(path), access)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(connection)
}

/// Resolves symbolic links in the path of the file's directory, because SQLITE_OPEN_NOFOLLOW
/// refuses a link in any part of a path. The file itself must not be a link.
fn resolve_directory(path: &Path) -> PathBuf {
    let resolve = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    resolve().unwrap_or_else(|| path.to_path_buf())
}

/// Waits for the writes of other processes and runs `work` in one transaction. After an error,
/// nothing has changed, unless the store's files were removed, replaced or overwritten.
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

/// Recognizes errors that show damage. The message of any other error says that the store cannot be
/// read. If a statement does something other than read, the caller must name the action with
/// [`doing`].
impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        let is_damage = match &source {
            // The tables are STRICT, so a value of a different type comes from a damaged page.
            rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::Utf8Error(..) => true,
            other => matches!(
                other.sqlite_error_code(),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            ),
        };
        match is_damage {
            true => StoreError::Damaged(source.into()),
            false => StoreError::Engine { doing: "read", source: source.into() },
        }
    }
}

/// Returns a function that sets the participle in a [`StoreError::Engine`]. For example, `written`
/// gives "the store cannot be written".
pub fn doing(participle: &'static str) -> impl FnOnce(StoreError) -> StoreError {
    move |error| match error {
        StoreError::Engine { source, .. } => StoreError::Engine { doing: participle, source },
        other => other,
    }
}
