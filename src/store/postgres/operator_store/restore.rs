//! Restores a backup of the embedded store into PostgreSQL. This is how a store moves from SQLite
//! to PostgreSQL.

use super::PostgresOperatorStore;
use super::identity::{set_last_id, set_store_id};
use super::inserts::refuse_nul;
use super::lock_store;
use crate::store::ChangeScope;
use crate::store::postgres::error::{read_error, write_error};
use crate::store::postgres::heartbeats::require_unserved;
use crate::store::postgres::journal::record_change;
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

/// Restores a backup of the embedded store into this store, which must be empty and not in use by
/// servers. Writes all rows in one transaction, so the store stays empty if a write fails.
///
/// The store gets a new id. The ids of new accounts and keys begin `ID_GAP` above the highest id in
/// the backup.
pub fn restore(
    file: &Path,
    commands: &PostgresOperatorStore,
    progress: CopyProgress<'_>,
) -> Result<CheckReport, StoreError> {
    commands.run(async |client| {
        require_unserved(client).await?;
        require_empty(client).await
    })?;
    // Restore into a temporary directory first, because `sqlite::restore` also checks and migrates
    // the copy.
    let directory = tempfile::tempdir()
        .map_err(|error| StoreError::unwritable(&std::env::temp_dir(), error))?;
    sqlite::restore(file, directory.path(), progress)?;
    let path = SqliteStore::open(directory.path())?.path().to_path_buf();
    let backup = Connection::open(path)?;
    let fill = || {
        commands.write(async |transaction| {
            // Check again, because a server or a command may have used the store since the first
            // check.
            let change_number = lock_store(transaction).await?;
            require_empty(transaction).await?;
            refuse_names_with_nul(&backup)?;
            let copy = async |table, change_number| {
                copy_table(transaction, &backup, table, change_number).await
            };
            copy("orders", change_number).await?;
            record_change(transaction, change_number, ChangeScope::Orders).await?;
            copy("pets", change_number).await?;
            copy("accounts", change_number + 1).await?;
            copy("keys", change_number + 1).await?;
            record_change(transaction, change_number + 1, ChangeScope::Keys).await?;
            copy_ids(transaction, &backup).await
        })
    };
    commands.with_new_id(fill)?;
    commands.check()
}

async fn require_empty(client: &impl tokio_postgres::GenericClient) -> Result<(), StoreError> {
    let query = "SELECT EXISTS (SELECT FROM orders) OR EXISTS (SELECT FROM pets)
                     OR EXISTS (SELECT FROM accounts) OR EXISTS (SELECT FROM keys)";
    if value(&client.query_one(query, &[]).await.map_err(read_error)?, 0)? {
        return Err(StoreError::Refused(
            "the store is not empty, and is not overwritten; create another database, and migrate \
             it"
            .to_string(),
        ));
    }
    Ok(())
}

/// Copies all rows of a table from the backup. Sets their change numbers to `change_number`. Fails
/// if PostgreSQL lacks a column of the backup.
async fn copy_table(
    transaction: &Transaction<'_>,
    backup: &Connection,
    table: &str,
    change_number: i64,
) -> Result<(), StoreError> {
    let mut names = backup.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = names.query_map([table], |row| row.get(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let quote = |name: &String| format!("\"{name}\"");
    let columns = names.iter().map(quote).collect::<Vec<_>>().join(", ");
    let select = format!("SELECT {columns} FROM {table}");
    let target = transaction.prepare(&select).await.map_err(read_error)?;
    let types: Vec<_> = target.columns().iter().map(|column| column.type_().clone()).collect();
    let mut copy = TableCopy::begin(transaction, table, &columns, &types).await?;
    let mut statement = backup.prepare(&format!("{select} ORDER BY 1"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = names.iter().enumerate().map(|(column, name)| match &**name {
            "change_number" => Ok(Value::Integer(change_number)),
            _ => row.get(column),
        });
        let values = values.collect::<rusqlite::Result<Vec<Value>>>()?;
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        copy.write(&values).await?;
    }
    copy.finish().await.map(drop)
}

/// Fails if a pet's name contains NUL, because PostgreSQL cannot store NUL in a text.
fn refuse_names_with_nul(backup: &Connection) -> Result<(), StoreError> {
    let mut names = backup.prepare("SELECT id, name FROM pets WHERE instr(name, char(0))")?;
    match names.query([])?.next()? {
        Some(row) => refuse_nul(row.get(0)?, &row.get::<_, String>(1)?),
        None => Ok(()),
    }
}

/// Copies the store's id and the last used ids of accounts and keys from `backup`.
/// `sqlite::restore` has already given `backup` a new store id, and raised its last used ids by
/// `ID_GAP`.
async fn copy_ids(transaction: &Transaction<'_>, backup: &Connection) -> Result<(), StoreError> {
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

/// A `COPY … FROM STDIN` in progress, which writes rows to a table. If this value is dropped before
/// [`TableCopy::finish`], nothing is written.
struct TableCopy {
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl TableCopy {
    async fn begin(
        transaction: &Transaction<'_>,
        table: &str,
        columns: &str,
        types: &[Type],
    ) -> Result<TableCopy, StoreError> {
        let statement = format!("COPY {table} ({columns}) FROM STDIN (FORMAT binary)");
        let sink = transaction.copy_in(&statement).await.map_err(write_error)?;
        Ok(TableCopy { writer: Box::pin(BinaryCopyInWriter::new(sink, types)) })
    }

    async fn write(&mut self, row: &[&(dyn ToSql + Sync)]) -> Result<(), StoreError> {
        self.writer.as_mut().write(row).await.map_err(write_error)
    }

    async fn finish(mut self) -> Result<u64, StoreError> {
        self.writer.as_mut().finish().await.map_err(write_error)
    }
}
