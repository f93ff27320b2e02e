//! Ensures that a store has at most one server. A server locks the data directory exclusively.
//! Commands lock the directory in shared mode:
//!
//! - A command that must not run beside a server, such as `restore`, holds the lock until the
//!   command is done.
//! - Every other command tries to take the lock while it opens the store. If a server has the lock,
//!   the command continues without the lock.
//!
//! The directory itself is locked (flock(2)). A lock file could be removed, and a second server
//! would then lock a new file.

use super::directory::{create, existing_store};
use crate::private_file::{open_private_file, private_file};
use crate::store::StoreError;
use crate::store::error::advice;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The maximum time that a starting server waits until commands release the lock. Most commands
/// hold the lock only while they open the store.
const KEPT_AWAY_TIMEOUT: Duration = Duration::from_secs(1);

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The file that describes the running server, for error messages and the command `status`.
/// Contains the process id, and the addresses once the server listens.
const DESCRIPTION_FILE_NAME: &str = "server.pid";

/// The maximum number of bytes that are read from the description file. Servers write fewer.
const MAX_DESCRIPTION_BYTES: u64 = 1_000;

/// The exclusive right to serve a store. The lock is released when this value is dropped or the
/// process ends.
#[derive(Debug)]
pub struct ServerLock {
    directory: PathBuf,
    _lock: File,
}

impl ServerLock {
    /// Takes the lock exclusively, and records the process id for error messages. Waits for at most
    /// [`KEPT_AWAY_TIMEOUT`], because a command may hold the lock while it opens the store. Creates
    /// the data directory if it is missing.
    pub fn take(directory: &Path) -> Result<ServerLock, StoreError> {
        let lock = open(directory)?;
        let started = Instant::now();
        while let Err(error) = lock.try_lock() {
            match error {
                TryLockError::WouldBlock if started.elapsed() < KEPT_AWAY_TIMEOUT => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                // A server's lock is exclusive; a command's is shared. If a shared lock succeeds, a
                // command holds the lock.
                TryLockError::WouldBlock if lock.try_lock_shared().is_ok() => {
                    return Err(used_by_command(directory));
                }
                error => return Err(refusal(error, directory)),
            }
        }
        let lock = ServerLock { directory: directory.to_path_buf(), _lock: lock };
        lock.describe(&format!("pid {}", std::process::id())).map_err(|error| {
            StoreError::unwritable(&directory.join(DESCRIPTION_FILE_NAME), error)
        })?;
        Ok(lock)
    }

    /// Writes the addresses of this server to the data directory, so that commands and error
    /// messages can show them.
    pub fn record_addresses(
        &self,
        address: SocketAddr,
        admin: Option<SocketAddr>,
    ) -> io::Result<()> {
        let admin = admin.map_or("off".to_string(), |admin| admin.to_string());
        self.describe(&format!("pid {}, {address}, admin {admin}", std::process::id()))
    }

    fn describe(&self, server: &str) -> io::Result<()> {
        let path = self.directory.join(DESCRIPTION_FILE_NAME);
        let mut file = private_file(&path, &self.directory)?;
        file.set_len(0)?;
        file.write_all(server.as_bytes())
    }
}

/// Prevents servers from starting in this data directory until the returned file is dropped.
/// Creates a missing directory. Fails if a server uses the directory.
pub fn keep_servers_away(directory: &Path) -> Result<File, StoreError> {
    let lock = open(directory)?;
    match lock.try_lock_shared() {
        Ok(()) => Ok(lock),
        Err(error) => Err(refusal(error, directory)),
    }
}

pub fn running_server(directory: &Path) -> Result<Option<String>, StoreError> {
    existing_store(directory)?;
    match open(directory)?.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read_description(directory))),
        Err(TryLockError::Error(error)) => Err(lock_error(directory, error)),
    }
}

fn open(directory: &Path) -> Result<File, StoreError> {
    let directory_file = create(directory).and_then(|()| File::open(directory));
    directory_file.map_err(|error| lock_error(directory, error))
}

fn lock_error(directory: &Path, error: io::Error) -> StoreError {
    let doing = format!("lock the data directory {}{}", directory.display(), advice(&error));
    StoreError::File { doing, source: error.into() }
}

fn used_by_command(directory: &Path) -> StoreError {
    StoreError::Refused(format!(
        "a command, such as restore, uses the store in {}; start the server when that has ended",
        directory.display()
    ))
}

/// Returns the error for a lock that cannot be taken, usually because a server has it.
fn refusal(error: TryLockError, directory: &Path) -> StoreError {
    match error {
        TryLockError::Error(error) => lock_error(directory, error),
        TryLockError::WouldBlock => {
            let server = match read_description(directory) {
                server if server.is_empty() => server,
                server => format!(" ({server})"),
            };
            StoreError::Refused(format!(
                "a server{server} has the store in {} already; stop it first, or choose another \
                 --data-dir",
                directory.display()
            ))
        }
    }
}

/// Returns the running server's description for an error message. The description may be empty or
/// incomplete.
fn read_description(directory: &Path) -> String {
    let path = directory.join(DESCRIPTION_FILE_NAME);
    let mut description = String::new();
    if let Ok(file) = open_private_file(&path, OpenOptions::new().read(true)) {
        // Ignore a read error, because the part that could be read is enough for an error message.
        let _ = file.take(MAX_DESCRIPTION_BYTES).read_to_string(&mut description);
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_at_most_one_server() {
        let directory = tempfile::tempdir().unwrap();
        let first = ServerLock::take(directory.path()).unwrap();
        first.record_addresses("127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let refusal = ServerLock::take(directory.path()).unwrap_err().to_string();
        let named = format!("(pid {}, 127.0.0.1:8080, admin off)", std::process::id());
        assert!(refusal.contains(&named), "{refusal}");
        let refusal = keep_servers_away(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains(&named), "{refusal}");
        // The lock must not depend on a file that can be removed.
        std::fs::remove_file(directory.path().join(DESCRIPTION_FILE_NAME)).unwrap();
        let refusal = ServerLock::take(directory.path()).unwrap_err().to_string();
        assert!(refusal.starts_with("a server has the store"), "{refusal}");
        drop(first);
        let command = keep_servers_away(directory.path()).unwrap();
        let refusal = ServerLock::take(directory.path()).unwrap_err().to_string();
        assert!(refusal.starts_with("a command, such as restore, uses the store"), "{refusal}");
        drop(command);
        let commands = [(); 2].map(|()| keep_servers_away(directory.path()).unwrap());
        let starting = std::thread::spawn({
            let directory = directory.path().to_path_buf();
            move || ServerLock::take(&directory)
        });
        drop(commands);
        starting.join().unwrap().unwrap();
    }
}
