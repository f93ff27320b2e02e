//! Reads the id of a store, and makes a restored store independent of the original.

use super::connection::doing;
use crate::store::StoreError;
use crate::store::rules::{ID_GAP, IDS};
use rusqlite::Connection;

pub fn store_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT store_id FROM identity", [], |row| row.get(0))
}

/// Makes a copy of a store independent of the original. The copy's next accounts and keys get ids
/// that begin [`ID_GAP`] above the highest id so far. Must be called before another process can
/// open the copy.
pub fn begin_new_store(copy: &mut Connection) -> Result<(), StoreError> {
    let mut write = || {
        let transaction = copy.transaction()?;
        transaction.execute("UPDATE identity SET store_id = lower(hex(randomblob(16)))", [])?;
        for (table, column) in IDS {
            let highest: i64 = transaction.query_row(
                &format!(
                    "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0),
                                coalesce((SELECT max({column}) FROM {table}), 0))"
                ),
                [table],
                |row| row.get(0),
            )?;
            transaction.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [table])?;
            transaction.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                (table, highest.saturating_add(ID_GAP)),
            )?;
        }
        Ok(transaction.commit()?)
    };
    write().map_err(doing("written"))
}
