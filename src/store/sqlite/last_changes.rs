//! Reads and raises the numbers of the last changes, which are in the table `last_changes`.
//!
//! The numbers are cached, because each list request needs them. They are read again if the header
//! of SQLite's WAL index (`store.sqlite-shm`) has changed or cannot be read. Every commit changes
//! the header before the commit returns (<https://sqlite.org/walformat.html>, 2.1, `iChange`).
//!
//! Reading the header takes 1.5 µs on a busy machine. `PRAGMA data_version` would take 7 µs (SQLite
//! 3.54).

use super::connection::connect;
use super::directory::{LOG_INDEX, side_file};
use crate::store::{ChangeScope, LastChanges};
use rusqlite::{Connection, Row};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub const SELECT_LAST_CHANGES: &str = "SELECT orders, keys FROM last_changes";

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

/// Sets the change number of this scope. The caller must have read the previous number in the same
/// transaction.
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
    /// The header of the WAL index just before `last_changes` was read. While this is `None`, each
    /// call of `get` queries SQLite.
    header: Option<Header>,
    last_changes: LastChanges,
}

impl CachedLastChanges {
    pub fn open(path: &Path) -> rusqlite::Result<CachedLastChanges> {
        let connection = connect(path)?;
        let last_changes = read_last_changes(&connection)?;
        let wal_index = WalIndex::open(path);
        Ok(CachedLastChanges { connection, wal_index, header: None, last_changes })
    }

    pub fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Returns the last changes, including every change that was committed before this call.
    pub fn get(&mut self) -> rusqlite::Result<LastChanges> {
        let header = self.wal_index.header();
        if header.is_none() || header != self.header {
            self.last_changes = read_last_changes(&self.connection)?;
            self.header = header;
        }
        Ok(self.last_changes)
    }
}

/// The supported format version of the WAL index. The first word of the header, `iVersion`, must
/// have this value, in the machine's byte order.
const FORMAT: [u8; 4] = 3_007_000_u32.to_ne_bytes();

/// The length of the WAL index's header, without the copy after the header.
const HEADER_BYTES: usize = 48;

type Header = [u8; HEADER_BYTES];

#[derive(Debug)]
struct WalIndex {
    /// Never closed. Closing any handle to the file would release SQLite's locks on the file
    /// (fcntl(2)).
    file: Option<&'static File>,
}

impl WalIndex {
    /// Opens the WAL index of the store at this path. The caller must already have a connection
    /// that has read the store, and must keep it open. Otherwise SQLite may delete the index, and
    /// later commits would not change the opened file.
    fn open(store: &Path) -> WalIndex {
        let file = File::open(side_file(store, LOG_INDEX));
        WalIndex { file: file.ok().map(|file| &*Box::leak(Box::new(file))) }
    }

    /// Returns `None` if the header cannot be read or has a different format. The caller must then
    /// query SQLite.
    fn header(&self) -> Option<Header> {
        let mut header = [0; HEADER_BYTES];
        self.file?.read_exact_at(&mut header, 0).ok()?;
        header.starts_with(&FORMAT).then_some(header)
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

    #[test]
    fn a_header_of_another_format_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store.sqlite");
        assert_eq!(WalIndex::open(&store).header(), None, "no file");
        let mut header = [7; HEADER_BYTES];
        let mut read = |format: u32, bytes: usize| {
            header[..4].copy_from_slice(&format.to_ne_bytes());
            std::fs::write(directory.path().join("store.sqlite-shm"), &header[..bytes]).unwrap();
            WalIndex::open(&store).header().is_some()
        };
        assert!(read(3_007_000, HEADER_BYTES));
        assert!(!read(3_007_000, HEADER_BYTES - 1), "too short");
        assert!(!read(3_007_001, HEADER_BYTES), "a later format");
        assert!(!read(3_007_000_u32.swap_bytes(), HEADER_BYTES), "another byte order");
    }
}
