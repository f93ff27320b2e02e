//! Errors of PostgreSQL and of the connection to it. For some errors, the message contains advice
//! for the operator.

use crate::store::StoreError;
use std::error::Error;
use tokio_postgres::error::SqlState;

/// An error of PostgreSQL or of the connection to it. The text omits the error's details, because
/// they may quote a row.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub struct PostgresError {
    /// The SQLSTATE, or `None` if PostgreSQL did not report the error, for example because it did
    /// not answer.
    pub state: Option<SqlState>,
    text: String,
}

impl PostgresError {
    /// Creates an error that PostgreSQL did not report, so it has no SQLSTATE.
    pub fn other(text: impl Into<String>) -> PostgresError {
        PostgresError { state: None, text: text.into() }
    }

    pub fn with_advice(&self) -> String {
        match advice(self) {
            Some(advice) => format!("{self}; {advice}"),
            None => self.to_string(),
        }
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> PostgresError {
        match error.as_db_error() {
            Some(answer) => PostgresError {
                state: Some(answer.code().clone()),
                text: format!("{} (SQLSTATE {})", answer.message(), answer.code().code()),
            },
            None => {
                let text = chain(&error);
                let plain = text.strip_prefix("error connecting to server: ");
                PostgresError { state: None, text: plain.unwrap_or(&text).to_string() }
            }
        }
    }
}

/// Joins an error and its causes on one line. Leaves out a cause whose message the line already
/// has.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// Returns the [`PostgresError`] in `error`. Returns `None` for other errors, such as
/// [`StoreError::Refused`], which contains only text.
pub fn postgres_error(error: &StoreError) -> Option<&PostgresError> {
    let StoreError::Engine { source, .. } = error else { return None };
    source.downcast_ref()
}

/// Converts an error of a statement. `doing` is a participle such as "read". A read-only server is
/// treated as unreachable. Any other error that the operator can fix becomes
/// [`StoreError::Refused`], with advice.
pub fn engine_error(doing: &'static str) -> impl Fn(tokio_postgres::Error) -> StoreError {
    move |error| {
        let error = PostgresError::from(error);
        if error.state == Some(SqlState::READ_ONLY_SQL_TRANSACTION) {
            // PostgreSQL was made read-only, so another host may be the primary now. Treat the
            // store as unreachable, so that the session ends.
            return unreachable_because(error.with_advice());
        }
        match advice(&error) {
            Some(_) => StoreError::Refused(format!("the database says: {}", error.with_advice())),
            None => StoreError::Engine { doing, source: Box::new(error) },
        }
    }
}

fn advice(error: &PostgresError) -> Option<&'static str> {
    Some(match *error.state.as_ref()? {
        SqlState::INSUFFICIENT_PRIVILEGE => {
            "fix: `store-orders migrate --print-grants ROLE` prints what a server's role needs; \
             commands need the tables' owner"
        }
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "fix: the user and the password of --store, or pg_hba.conf of the server"
        }
        SqlState::INVALID_CATALOG_NAME => {
            "fix: create the store's database with createdb; that of the request counts, whose name \
             is the store's and _limits unless --limits-database names it, is created by \
             `store-orders migrate`"
        }
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN | SqlState::INVALID_SCHEMA_NAME => {
            "fix: `store-orders migrate` creates the tables and brings them up to date, in the \
             first schema of the search_path"
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => {
            "fix: name the primary in --store; this server takes no writes"
        }
        _ => return None,
    })
}

pub fn read_error(error: tokio_postgres::Error) -> StoreError {
    engine_error("read")(error)
}

pub fn write_error(error: tokio_postgres::Error) -> StoreError {
    engine_error("written")(error)
}

/// Returns the error for an unreachable store, or for an answer that must not be used. The error
/// has no SQLSTATE, so `SessionState::answer` ends the session.
pub fn unreachable_because(why: impl Into<String>) -> StoreError {
    StoreError::Engine { doing: "reached", source: Box::new(PostgresError::other(why)) }
}

/// Fails if a table that serves as a lock does not have exactly one row. Without a row, nothing
/// would be locked.
pub fn require_one_row(table: &str, rows: usize) -> Result<(), StoreError> {
    if rows == 1 {
        return Ok(());
    }
    let why = format!("the table {table} has {rows} rows instead of one; see store-orders check");
    Err(StoreError::Refused(why))
}

/// Converts an error of a statement that waits for a lock. PostgreSQL's message for a timeout is
/// `canceling statement due to lock timeout`. The operator gets the cause instead: another process
/// is writing to the store.
pub fn lock_error(error: tokio_postgres::Error) -> StoreError {
    if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
        return write_error(error);
    }
    let source = Box::new(PostgresError::other("another process is writing to it"));
    StoreError::Engine { doing: "written", source }
}
