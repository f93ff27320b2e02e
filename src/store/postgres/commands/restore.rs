//! A store in PostgreSQL from a backup of the embedded one, which is the way to move.

use super::PostgresCommands;
use super::identity::{set_last_id, set_store_id};
use super::inserts::refuse_nul;
use super::take_store;
use crate::store::ChangeScope;
use crate::store::postgres::error::{read, written};
use crate::store::postgres::heartbeats::require_unserved;
use crate::store::postgres::journal::note;
use crate::store::postgres::rows::value;
use crate::store::rules::IDS;
use crate::store::sqlite::{self, CopyProgress, SqliteStore};
use crate::store::value::Value;
use crate::store::{CheckReport, OperatorStore, StoreError};
use rusqlite::Connection;
use std::path::Path;
use std::pin::Pin;
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

/// Restores a backup of the embedded store into this one, which must be empty and not
/// served. It has an id of its own, and goes on with ids of accounts and keys that the old
/// store has not used. On an error nothing is changed.
pub fn restore(
    file: &Path,
    commands: &PostgresCommands,
    progress: CopyProgress<'_>,
) -> Result<CheckReport, StoreError> {
    commands.ask(async |client| {
        require_unserved(client).await?;
        require_empty(client).await
    })?;
    // The embedded engine's own restore checks it, brings it to the newest schema, and makes
    // it a store of its own.
    let directory = tempfile::tempdir()
        .map_err(|error| StoreError::unwritable(&std::env::temp_dir(), error))?;
    sqlite::restore(file, directory.path(), progress)?;
    let path = SqliteStore::open(directory.path())?.path().to_path_buf();
    let backup = Connection::open(path)?;
    let fill = || {
        commands.write(async |transaction| {
            // A server may have started since the backup was read.
            let change_number = take_store(transaction).await?;
            require_empty(transaction).await?;
            refuse_names_with_nul(&backup)?;
            let copy = async |table, columns, change_number| {
                copy_table(transaction, &backup, table, columns, change_number).await
            };
            copy("orders", ORDERS, change_number).await?;
            note(transaction, change_number, ChangeScope::Orders).await?;
            copy("pets", PETS, change_number).await?;
            copy("accounts", ACCOUNTS, change_number + 1).await?;
            copy("keys", KEYS, change_number + 1).await?;
            note(transaction, change_number + 1, ChangeScope::Keys).await?;
            copy_numbers(transaction, &backup).await
        })
    };
    commands.with_new_id(fill)?;
    commands.check()
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

/// The columns of each table, which are those of the embedded store but for `changed_in`.
const ORDERS: &str = "id, pet_id, quantity, ship_date, complete, status, cancelled_at, \
                      cancelled_by, changed_in";
const PETS: &str = "id, name";
const ACCOUNTS: &str = "id, name, plan, per_minute, per_day, created_at, closed_at, changed_in";
const KEYS: &str = "\"row\", id, account, environment, digest, issued_at, expires_at, \
                    revoked_at, used_at, successor, banned_until, ban_seconds, ban_number, label, changed_in";

/// Copies these columns of all rows of a table; what has changed did so in the change of this
/// number.
async fn copy_table(
    transaction: &Transaction<'_>,
    backup: &Connection,
    table: &str,
    columns: &str,
    change_number: i64,
) -> Result<(), StoreError> {
    let own = transaction.prepare(&format!("SELECT {columns} FROM {table}")).await.map_err(read)?;
    let names = columns.split(", ").zip(own.columns());
    let typed: Vec<_> = names.map(|(name, column)| (name, column.type_().clone())).collect();
    let mut copying = Copying::begin(transaction, table, &typed).await?;
    let columns = columns.replace("changed_in", &change_number.to_string());
    let mut statement = backup.prepare(&format!("SELECT {columns} FROM {table} ORDER BY 1"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..typed.len()).map(|column| row.get(column));
        let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        copying.write(&values).await?;
    }
    copying.finish().await.map(drop)
}

/// Refuses the names of pets that PostgreSQL does not store.
fn refuse_names_with_nul(backup: &Connection) -> Result<(), StoreError> {
    let mut names = backup.prepare("SELECT id, name FROM pets WHERE instr(name, char(0))")?;
    match names.query([])?.next()? {
        Some(row) => refuse_nul(row.get(0)?, &row.get::<_, String>(1)?),
        None => Ok(()),
    }
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

/// Rows on their way into a table. Dropped before it is finished, none is written.
struct Copying {
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl Copying {
    /// Begins to copy into this table; `columns` are names and types.
    async fn begin(
        transaction: &Transaction<'_>,
        table: &str,
        columns: &[(&str, Type)],
    ) -> Result<Copying, StoreError> {
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let types: Vec<_> = columns.iter().map(|(_, kind)| kind.clone()).collect();
        let names = names.join(", ");
        let statement = format!("COPY {table} ({names}) FROM STDIN (FORMAT binary)");
        let sink = transaction.copy_in(&statement).await.map_err(written)?;
        Ok(Copying { writer: Box::pin(BinaryCopyInWriter::new(sink, &types)) })
    }

    /// Adds a row, with its values in the order of the columns.
    async fn write(&mut self, row: &[&(dyn ToSql + Sync)]) -> Result<(), StoreError> {
        self.writer.as_mut().write(row).await.map_err(written)
    }

    /// Ends the copy, and returns the number of rows that were written.
    async fn finish(mut self) -> Result<u64, StoreError> {
        self.writer.as_mut().finish().await.map_err(written)
    }
}
