//! Reads and writes the counts file. The first line has a version and a checksum, and the rest is
//! the encoded [`SavedCounts`]. A write replaces the file by a rename, so readers see no partial
//! write.
//!
//! Timestamps are wall times. [`rate_limiter`](crate::rate_limiter) explains what happens if the
//! clock is set.

use crate::private_file::{open_private_file, private_file};
use crate::rate_limiter::saved_windows::SavedWindows;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

/// The start of a counts file, before the checksum. The `1` is the format version; files of other
/// versions are rejected.
const HEADER: &str = "store-orders limits 1, crc32 ";

#[derive(Debug, Serialize, Deserialize)]
pub struct SavedCounts {
    /// The store that the account ids belong to. In another store, the same ids belong to other
    /// accounts.
    pub store_id: String,
    /// The wall time of the write, since the Unix epoch.
    pub saved_at: Duration,
    pub limits: SavedWindows,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{0}")]
    Damaged(String),
    /// The file could not be read, for example because of its permissions.
    #[error("cannot be read")]
    Unavailable(#[source] io::Error),
}

impl SavedCounts {
    pub fn read(path: &Path) -> Result<Option<SavedCounts>, ReadError> {
        let content = match read_file(path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ReadError::Unavailable(error)),
        };
        let damaged = |what: &str| ReadError::Damaged(what.to_string());
        let line_end = content.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let (line, rest) = content.split_at(line_end);
        let sum = line.strip_prefix(HEADER.as_bytes());
        let sum = sum.ok_or_else(|| damaged("not a counts file of this version"))?;
        let body = rest.get(1..).unwrap_or_default();
        if sum != checksum(body).as_bytes() {
            return Err(damaged("the checksum does not match the content"));
        }
        postcard::from_bytes(body).map(Some).map_err(|error| ReadError::Damaged(error.to_string()))
    }

    /// Replaces the file, and returns after the new file is synced to the disk.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let body = postcard::to_stdvec(self).map_err(io::Error::other)?;
        let new = path.with_extension("new");
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = private_file(&new, directory)?;
        // Empty the file, because an interrupted write may have left content in it.
        file.set_len(0)?;
        writeln!(file, "{HEADER}{}", checksum(&body))?;
        file.write_all(&body)?;
        // Sync, so that a crash of the machine loses no more counts than a crash of the server.
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        // Sync the directory as well, because otherwise the rename may reach the disk seconds
        // later.
        File::open(directory)?.sync_all()
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_private_file(path, OpenOptions::new().read(true))?.read_to_end(&mut content)?;
    Ok(content)
}

fn checksum(body: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(body))
}
