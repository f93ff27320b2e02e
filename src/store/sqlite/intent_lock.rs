//! How a server and commands take turns at writing: a file in the data directory that a
//! command keeps locked while it waits to write, and at which the server pauses.
//!
//! SQLite has no queue of writers: each polls, and a server that begins its next batch
//! microseconds after the last one would be found at it by every poll of a command.
//! So, before each batch, the server looks whether the file is locked, and if it is, gives
//! the command time for a poll. The lock is flock(2), which the system releases however its
//! holder ends, and a command that was stopped while it held the lock delays each batch
//! by one pause.

use super::directory::private_file;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

/// The file in the data directory. It is never removed: only the lock on it counts.
const FILE_NAME: &str = "write-intent.lock";

/// How often a waiting process looks again.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How long the server pauses for a command, which polls three times meanwhile.
const PAUSE: Duration = Duration::from_millis(3);

/// The file, open.
#[derive(Debug)]
pub struct IntentLock {
    file: File,
}

impl IntentLock {
    /// Opens the file in this data directory, which is created if missing.
    pub fn open(directory: &Path) -> io::Result<IntentLock> {
        Ok(IntentLock { file: private_file(&directory.join(FILE_NAME), directory)? })
    }

    /// Locks the file for a command; `None` if another one holds the lock. On a file system
    /// without locks no server pauses.
    pub fn try_declare(&self) -> Option<Intent<'_>> {
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Ok(()) | Err(TryLockError::Error(_)) => Some(Intent(&self.file)),
        }
    }

    /// For the server, before it begins to write: pauses if a command waits to write.
    pub fn pause_for_command(&self) {
        match self.file.try_lock_shared() {
            // An error would mean that it is not locked.
            Ok(()) => _ = self.file.unlock(),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) => {}
        }
    }
}

/// The lock, held by a command until it has begun to write.
pub struct Intent<'a>(&'a File);

impl Drop for Intent<'_> {
    fn drop(&mut self) {
        // An error would mean that it is not locked.
        let _ = self.0.unlock();
    }
}
