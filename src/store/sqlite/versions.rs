//! The versions of the store: read, raised with every change, and checked for each list.

use super::connection::connect;
use super::wal_index::{Header, WalIndex};
use crate::store::{Half, Versions};
use rusqlite::{Connection, Row};
use std::path::Path;

/// The query for [`versions_in`].
pub const SELECT_VERSIONS: &str = "SELECT orders, keys FROM versions";

/// The versions in a row of [`SELECT_VERSIONS`].
pub fn versions_in(row: &Row<'_>) -> rusqlite::Result<Versions> {
    Ok(Versions { generation: 0, orders: row.get(0)?, keys: row.get(1)? })
}

/// The versions as this connection's transaction sees them.
pub fn read_versions(connection: &Connection) -> rusqlite::Result<Versions> {
    connection.prepare_cached(SELECT_VERSIONS)?.query_row([], versions_in)
}

/// Raises the version of this half, and returns it for the rows that change.
pub fn raise_version(connection: &Connection, half: Half) -> rusqlite::Result<i64> {
    let raise = match half {
        Half::Orders => "UPDATE versions SET orders = orders + 1 RETURNING orders",
        Half::Keys => "UPDATE versions SET keys = keys + 1 RETURNING keys",
    };
    connection.prepare_cached(raise)?.query_row([], |row| row.get(0))
}

/// The versions as last read, which hold until the WAL index shows a new commit.
#[derive(Debug)]
pub struct VersionChecker {
    connection: Connection,
    wal_index: WalIndex,
    /// As it was before the versions were read; none if they must be read each time.
    header: Option<Header>,
    versions: Versions,
}

impl VersionChecker {
    /// Opens its own connection to the store of this file.
    pub fn open(path: &Path) -> rusqlite::Result<VersionChecker> {
        let connection = connect(path)?;
        let versions = read_versions(&connection)?;
        let wal_index = WalIndex::open(path);
        Ok(VersionChecker { connection, wal_index, header: None, versions })
    }

    /// The versions, including every change committed before this call.
    pub fn versions(&mut self) -> rusqlite::Result<Versions> {
        let header = self.wal_index.header();
        if header.is_none() || header != self.header {
            self.versions = read_versions(&self.connection)?;
            self.header = header;
        }
        Ok(self.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::schema;

    #[test]
    fn a_commit_elsewhere_is_seen_with_the_wal_index_and_without() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store.sqlite");
        let mut other = connect(&path).unwrap();
        schema::migrate(&mut other, &path).unwrap();
        let mut with = VersionChecker::open(&path).unwrap();
        let mut without = VersionChecker::open(&path).unwrap();
        without.wal_index = WalIndex::open(&directory.path().join("nowhere"));
        for keys in 1..=3 {
            assert_eq!(raise_version(&other, Half::Keys).unwrap(), keys);
            for checker in [&mut with, &mut without] {
                assert_eq!(
                    checker.versions().unwrap(),
                    Versions { generation: 0, orders: 0, keys }
                );
                assert_eq!(
                    checker.versions().unwrap(),
                    Versions { generation: 0, orders: 0, keys }
                );
            }
            assert!(with.header.is_some() && without.header.is_none());
        }
    }
}
