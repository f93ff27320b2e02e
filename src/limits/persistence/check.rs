//! Whether the file of the limits is sound, for the `check` command. Nothing is changed.

use super::file::FILE_NAME;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// How long to wait for a server that is writing the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The accounts whose requests the file in this directory counts, if there is a file; or
/// what is wrong with it.
pub fn check(directory: &Path) -> Result<Option<i64>, String> {
    let path = directory.join(FILE_NAME);
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let examine = || {
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        let accounts = connection.query_row("SELECT count(*) FROM accounts", [], |row| row.get(0));
        // Under a heading that names the database.
        match found.lines().find(|line| *line != "ok" && !line.starts_with("***")) {
            Some(problem) => Ok(Err(problem.to_string())),
            None => Ok(Ok(accounts?)),
        }
    };
    let examined = examine().unwrap_or_else(|error: rusqlite::Error| Err(error.to_string()));
    examined.map(Some).map_err(|problem| format!("{FILE_NAME}: {problem}"))
}
