//! Reads and raises the numbers of the last changes, which are in the only row of the table
//! `last_changes`. Rows of orders, accounts and keys have the number of their last change in the
//! column `change_number`.

use super::connection::connect;
use super::wal_index::{Header, WalIndex};
use crate::store::{ChangeScope, LastChanges};
use rusqlite::{Connection, Row};
use std::path::Path;

/// The query for [`last_changes_in`].
pub const SELECT_LAST_CHANGES: &str = "SELECT orders, keys FROM last_changes";

/// Reads a row of [`SELECT_LAST_CHANGES`].
pub fn last_changes_in(row: &Row<'_>) -> rusqlite::Result<LastChanges> {
    Ok(LastChanges::new(0, row.get(0)?, row.get(1)?))
}

/// Returns the last changes in the snapshot of this connection's transaction.
pub fn read_last_changes(connection: &Connection) -> rusqlite::Result<LastChanges> {
    connection.prepare_cached(SELECT_LAST_CHANGES)?.query_row([], last_changes_in)
}

/// Raises the change number of this scope and returns it. The caller must store the number in the
/// rows that the change writes.
pub fn raise_change_number(connection: &Connection, scope: ChangeScope) -> rusqlite::Result<i64> {
    let last = read_last_changes(connection)?;
    let number = 1 + match scope {
        ChangeScope::Orders => last.orders.number,
        ChangeScope::Keys => last.keys.number,
    };
    set_change_number(connection, scope, number)?;
    Ok(number)
}

/// Sets the change number of this scope. The same transaction must have read the previous number.
pub fn set_change_number(
    connection: &Connection,
    scope: ChangeScope,
    number: i64,
) -> rusqlite::Result<()> {
    // Without a primary key in WHERE, or with RETURNING, SQLite creates a temporary table, which
    // costs more than the update.
    let update = match scope {
        ChangeScope::Orders => "UPDATE last_changes SET orders = ?1 WHERE only_row = 1",
        ChangeScope::Keys => "UPDATE last_changes SET keys = ?1 WHERE only_row = 1",
    };
    connection.prepare_cached(update)?.execute([number])?;
    Ok(())
}

/// A cache of the last changes, valid until the WAL index shows a new commit.
#[derive(Debug)]
pub struct CachedLastChanges {
    connection: Connection,
    wal_index: WalIndex,
    /// The header of the WAL index before `last_changes` was read. `None` if the header could not
    /// be read; then each call queries SQLite.
    header: Option<Header>,
    last_changes: LastChanges,
}

impl CachedLastChanges {
    /// Opens a connection to the store in this file.
    pub fn open(path: &Path) -> rusqlite::Result<CachedLastChanges> {
        let connection = connect(path)?;
        let last_changes = read_last_changes(&connection)?;
        let wal_index = WalIndex::open(path);
        Ok(CachedLastChanges { connection, wal_index, header: None, last_changes })
    }

    /// The connection that reads the last changes.
    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the last changes, including every change committed before this call.
    pub fn get(&mut self) -> rusqlite::Result<LastChanges> {
        let header = self.wal_index.header();
        if header.is_none() || header != self.header {
            self.last_changes = read_last_changes(&self.connection)?;
            self.header = header;
        }
        Ok(self.last_changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::schema;

    #[test]
    fn commits_of_other_connections_are_seen_with_and_without_the_wal_index() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.sqlite");
        let mut other = Connection::open(&path).unwrap();
        schema::apply_missing(&mut other).unwrap();
        schema::migrate(&mut other, &path).unwrap();
        let mut with = CachedLastChanges::open(&path).unwrap();
        let mut without = CachedLastChanges::open(&path).unwrap();
        without.wal_index = WalIndex::open(&directory.path().join("nowhere"));
        for keys in 1..=3 {
            assert_eq!(raise_change_number(&other, ChangeScope::Keys).unwrap(), keys);
            for cached in [&mut with, &mut without] {
                assert_eq!(cached.get().unwrap(), LastChanges::new(0, 0, keys));
                assert_eq!(cached.get().unwrap(), LastChanges::new(0, 0, keys));
            }
            assert!(with.header.is_some() && without.header.is_none());
        }
    }
}
