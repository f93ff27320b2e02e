//! Reads and writes the limits file: a line with its version and checksum, then the limits. A write
//! replaces the file by a rename, so that readers always see a complete file.
//!
//! Timestamps count from the moment of saving. The age of the file is measured with the clock since
//! boot, so that setting the wall clock has no effect. After a reboot it is measured with the wall
//! clock. The age is never negative, so no window lasts longer than its length.

use crate::clock::{Boot, Now};
use crate::limits::snapshot::LimitsSnapshot;
use crate::limits::timestamp::Timestamp;
use crate::private_file::private_file;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// The first line without the checksum. Files of other versions are rejected.
const HEADER: &str = "store-orders limits 1, crc32 ";

/// Limits, with the clock readings at the moment of saving.
#[derive(Debug, Serialize, Deserialize)]
pub struct SavedLimits {
    /// The store that the account ids belong to. In another store, the same ids belong to other
    /// accounts.
    pub store_id: String,
    /// Wall time at the moment of saving, since the Unix epoch.
    wall: Duration,
    /// The id of the boot, and the time from the boot to the moment of saving. `None` if unknown.
    boot: Option<(String, Duration)>,
    /// Timestamps are in nanoseconds since the moment of saving.
    pub limits: LimitsSnapshot,
}

/// The error of reading the file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The content is invalid.
    #[error("{0}")]
    Damaged(String),
    /// The file could not be read, for example because of its permissions.
    #[error("cannot be read")]
    Unavailable(#[source] io::Error),
}

impl SavedLimits {
    /// Converts limits with monotonic timestamps to limits saved at `now`.
    pub fn new(
        store_id: &str,
        limits: LimitsSnapshot,
        now: Now,
        boot: Option<Boot>,
    ) -> SavedLimits {
        SavedLimits {
            store_id: store_id.to_string(),
            wall: now.wall,
            boot: boot.map(|boot| {
                let since = since_boot(&boot, now);
                (boot.id, since)
            }),
            limits: limits.shift(nanos(now.monotonic).saturating_neg()),
        }
    }

    /// The time since the limits were saved.
    pub fn age(&self, now: Now, boot: Option<&Boot>) -> Duration {
        match (&self.boot, boot) {
            (Some((id, saved)), Some(boot)) if *id == boot.id => {
                since_boot(boot, now).saturating_sub(*saved)
            }
            _ => now.wall.saturating_sub(self.wall),
        }
    }

    /// Reads the file. Returns `None` if it does not exist.
    pub fn read(path: &Path) -> Result<Option<SavedLimits>, ReadError> {
        let content = match read_regular_file(path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ReadError::Unavailable(error)),
        };
        let damaged = |what: &str| ReadError::Damaged(what.to_string());
        let line_end = content.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let (line, rest) = content.split_at(line_end);
        let sum = line.strip_prefix(HEADER.as_bytes());
        let sum = sum.ok_or_else(|| damaged("not a limits file of this version"))?;
        let body = rest.get(1..).unwrap_or_default();
        if sum != checksum(body).as_bytes() {
            return Err(damaged("the checksum does not match the content"));
        }
        postcard::from_bytes(body).map(Some).map_err(|error| ReadError::Damaged(error.to_string()))
    }

    /// Replaces the file. It is synced to the disk on return.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let body = postcard::to_stdvec(self).map_err(io::Error::other)?;
        let new = path.with_extension("new");
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = private_file(&new, directory)?;
        // An interrupted write may have left this file with content.
        file.set_len(0)?;
        writeln!(file, "{HEADER}{}", checksum(&body))?;
        file.write_all(&body)?;
        // Sync so that a crash of the machine, too, loses at most a second of counts.
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        // Sync the directory: otherwise the rename may reach the disk seconds later.
        File::open(directory)?.sync_all()
    }
}

/// Reads a regular file. Opening or reading another file, such as a FIFO, could wait forever.
fn read_regular_file(path: &Path) -> io::Result<Vec<u8>> {
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file; remove it"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

fn checksum(body: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(body))
}

fn since_boot(boot: &Boot, now: Now) -> Duration {
    boot.age_at_start.saturating_add(now.monotonic)
}

/// Converts to nanoseconds, which suffice for 292 years.
pub fn nanos(duration: Duration) -> i64 {
    Timestamp::from(duration).as_nanos()
}
