//! A store in PostgreSQL from a backup of the embedded one, which is the way to move.

use super::PostgresCommands;
use super::identity::{set_last_id, set_store_id};
use super::import::{Copying, refuse_nul};
use super::lock_versions;
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{read, waited};
use crate::store::postgres::journal::{Half, note};
use crate::store::postgres::schema::{IMPORT_LOCK, SCHEMA_LOCK};
use crate::store::rules::IDS;
use crate::store::sqlite::{self, BackupError, CopyProgress, SqliteStore};
use crate::store::{CheckReport, StoreError};
use rusqlite::types::FromSql;
use rusqlite::{Connection, Row};
use std::path::Path;
use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

/// Restores a backup of the embedded store into this one, which must be empty and not
/// served. It has an id of its own, and goes on with ids of accounts and keys that the old
/// store has not used. On an error nothing is changed.
pub fn restore(
    file: &Path,
    commands: &PostgresCommands,
    progress: CopyProgress<'_>,
) -> Result<CheckReport, BackupError> {
    commands.require_unserved()?;
    commands.ask(async |client| require_empty(client).await)?;
    // The embedded engine's own restore checks it, brings it to the newest schema, and makes
    // it a store of its own.
    let directory = tempfile::tempdir()
        .map_err(|source| BackupError::Io { path: std::env::temp_dir(), source })?;
    sqlite::restore(file, directory.path(), progress)?;
    let path = SqliteStore::open(directory.path())?.path().to_path_buf();
    let backup = Connection::open(path).map_err(StoreError::from)?;
    commands.write(async |transaction| {
        for lock in [SCHEMA_LOCK, IMPORT_LOCK] {
            let query = "SELECT pg_advisory_xact_lock($1)";
            transaction.execute(query, &[&lock]).await.map_err(waited)?;
        }
        let version = lock_versions(transaction, || ()).await?;
        require_empty(transaction).await?;
        copy_orders(transaction, &backup, version).await?;
        note(transaction, version, Half::Orders).await?;
        copy_pets(transaction, &backup).await?;
        copy_accounts(transaction, &backup).await?;
        copy_keys(transaction, &backup, version + 1).await?;
        note(transaction, version + 1, Half::Keys).await?;
        copy_numbers(transaction, &backup).await
    })?;
    Ok(commands.examine()?)
}

async fn require_empty(client: &impl tokio_postgres::GenericClient) -> Result<(), StoreError> {
    let query = "SELECT EXISTS (SELECT FROM orders) OR EXISTS (SELECT FROM pets)
                     OR EXISTS (SELECT FROM accounts) OR EXISTS (SELECT FROM keys)";
    if value(&client.query_one(query, &[]).await.map_err(read)?, 0)? {
        return Err(StoreError::Refused(
            "the store is not empty, and is not overwritten; create another database, and migrate \
             it"
            .to_string(),
        ));
    }
    Ok(())
}

/// Copies the rows of a query to a table; `of` gives each row as values of the columns.
macro_rules! copy_rows {
    ($transaction:expr, $backup:expr, $query:expr, $table:expr,
     { $($name:literal: $kind:ident as $type:ty),+ $(,)? }) => {{
        let columns = [$(($name, Type::$kind)),+];
        let mut copying = Copying::begin($transaction, $table, &columns).await?;
        let mut statement = $backup.prepare($query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut column = 0..;
            copying.write(&[$(&next::<$type>(row, &mut column)?),+]).await?;
        }
        copying.finish().await.map(drop)
    }};
}

fn next<T: FromSql>(
    row: &Row<'_>,
    column: &mut impl Iterator<Item = usize>,
) -> rusqlite::Result<T> {
    row.get(column.next().unwrap_or(usize::MAX))
}

async fn copy_orders(
    transaction: &Transaction<'_>,
    backup: &Connection,
    version: i64,
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT id, pet_id, quantity, ship_date, complete, status, {version}, cancelled_at,
                cancelled_by FROM orders ORDER BY id"
    );
    copy_rows!(transaction, backup, &query, "orders", {
        "id": INT8 as i64,
        "pet_id": INT8 as i64,
        "quantity": INT4 as i32,
        "ship_date": TEXT as Option<String>,
        "complete": BOOL as bool,
        "status": TEXT as String,
        "changed_in": INT8 as i64,
        "cancelled_at": TEXT as Option<String>,
        "cancelled_by": TEXT as Option<String>,
    })
}

async fn copy_pets(transaction: &Transaction<'_>, backup: &Connection) -> Result<(), StoreError> {
    let mut names = backup.prepare("SELECT id, name FROM pets WHERE instr(name, char(0))")?;
    if let Some(row) = names.query([])?.next()? {
        refuse_nul(row.get(0)?, &row.get::<_, String>(1)?)?;
    }
    copy_rows!(transaction, backup, "SELECT id, name FROM pets ORDER BY id", "pets", {
        "id": INT8 as i64,
        "name": TEXT as String,
    })
}

async fn copy_accounts(
    transaction: &Transaction<'_>,
    backup: &Connection,
) -> Result<(), StoreError> {
    let query = "SELECT id, name, plan, per_minute, per_day, created_at, closed_at
                 FROM accounts ORDER BY id";
    copy_rows!(transaction, backup, query, "accounts", {
        "id": INT8 as i64,
        "name": TEXT as String,
        "plan": TEXT as String,
        "per_minute": INT8 as Option<i64>,
        "per_day": INT8 as Option<i64>,
        "created_at": TEXT as String,
        "closed_at": TEXT as Option<String>,
    })
}

async fn copy_keys(
    transaction: &Transaction<'_>,
    backup: &Connection,
    version: i64,
) -> Result<(), StoreError> {
    let query = format!(
        "SELECT row, id, account, environment, digest, issued_at, expires_at, revoked_at, used_at,
                successor, unbanned_at, label, {version} FROM keys ORDER BY row"
    );
    copy_rows!(transaction, backup, &query, "keys", {
        "\"row\"": INT8 as i64,
        "id": TEXT as String,
        "account": INT8 as i64,
        "environment": TEXT as String,
        "digest": BYTEA as Vec<u8>,
        "issued_at": INT8 as i64,
        "expires_at": INT8 as Option<i64>,
        "revoked_at": INT8 as Option<i64>,
        "used_at": INT8 as Option<i64>,
        "successor": TEXT as Option<String>,
        "unbanned_at": INT8 as Option<i64>,
        "label": TEXT as Option<String>,
        "changed_in": INT8 as i64,
    })
}

/// The store's id, and the next ids of accounts and keys.
async fn copy_numbers(
    transaction: &Transaction<'_>,
    backup: &Connection,
) -> Result<(), StoreError> {
    let id: String = backup.query_row("SELECT store_id FROM identity", [], |row| row.get(0))?;
    set_store_id(transaction, &id).await?;
    for (table, column) in IDS {
        let last: i64 = backup.query_row(
            "SELECT seq FROM sqlite_sequence WHERE name = ?1",
            [table],
            |row| row.get(0),
        )?;
        set_last_id(transaction, table, column, last).await?;
    }
    Ok(())
}
