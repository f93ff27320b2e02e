//! Detects that another file was copied over the store's file. SQLite does not notice the copy, and
//! combines the new file's pages with the old write-ahead log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first bytes of a database (<https://sqlite.org/fileformat2.html>, 1.3).
const FORMAT: &[u8] = b"SQLite format 3\0";

/// The format versions for writing and for reading, one byte each, after [`FORMAT`] and two bytes
/// of page size. A database with a write-ahead log has 2 and 2. A backup has 1 and 1.
const VERSIONS_WITH_LOG: &[u8] = &[2, 2];

#[derive(Debug)]
pub struct StoreHeader {
    /// Never closed. Closing any handle to the file would release SQLite's locks on the file
    /// (fcntl(2)).
    file: &'static File,
}

impl StoreHeader {
    pub fn open(store: &Path) -> io::Result<StoreHeader> {
        Ok(StoreHeader { file: Box::leak(Box::new(File::open(store)?)) })
    }

    /// True if the file uses a write-ahead log. False means that another file, such as a backup,
    /// has overwritten the store.
    pub fn uses_log(&self) -> bool {
        let mut start = [0; 20];
        self.file.read_exact_at(&mut start, 0).is_ok()
            && start.starts_with(FORMAT)
            && start.ends_with(VERSIONS_WITH_LOG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::{SqliteStore, back_up};
    use crate::store::{OperatorStore, Order, Records};
    use std::time::Duration;

    #[test]
    fn a_backup_and_an_empty_file_use_no_log() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let header = StoreHeader::open(store.path()).unwrap();
        let path = |name: &str| directory.path().join(name);
        let orders: Vec<_> = (1..1_000).map(Order::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
        assert!(store.checkpoint(Duration::from_secs(60)).unwrap() && header.uses_log());
        std::fs::copy(store.path(), path("current")).unwrap();
        back_up(directory.path(), &path("backup"), &|_, _| (), &|| false).unwrap();
        std::fs::write(path("empty"), "").unwrap();
        for (name, uses_log) in [("backup", false), ("current", true), ("empty", false)] {
            // Overwrite the file in place, as `cp` does, so that `header` still reads the same
            // file.
            std::fs::copy(path(name), store.path()).unwrap();
            assert_eq!(header.uses_log(), uses_log, "{name}");
        }
    }
}
