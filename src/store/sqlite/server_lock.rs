//! Ensures that a store has at most one server, by a lock file in the data directory. Most of the
//! operator's commands do not take the lock, since they can run while a server runs.

use super::directory::{create, existing_store};
use crate::private_file::private_file;
use crate::store::StoreError;
use crate::store::error::advice;
use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// The maximum time that a starting server waits for a command that keeps servers away.
const KEPT_AWAY_TIMEOUT: Duration = Duration::from_secs(1);

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The lock file in the data directory. It is never removed: only the lock on it matters, which the
/// system releases when the holder ends in any way.
const LOCK_FILE_NAME: &str = "server.lock";

/// The exclusive right to serve a store. Dropping it releases the lock.
#[derive(Debug)]
pub struct ServerLock {
    file: File,
}

impl ServerLock {
    /// Takes the lock of this data directory. Creates the directory if it is missing.
    pub fn take(directory: &Path) -> Result<ServerLock, StoreError> {
        let file = open(directory)?;
        let started = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if started.elapsed() < KEPT_AWAY_TIMEOUT => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                // If a shared lock succeeds, the holder is a command: servers lock exclusively.
                TryLockError::WouldBlock if file.try_lock_shared().is_ok() => {
                    return Err(used_by_command(directory));
                }
                error => return Err(refusal(error, file, directory)),
            }
        }
        let mut lock = ServerLock { file };
        lock.write(&format!("pid {}", std::process::id()))
            .map_err(|error| lock_error(directory, error))?;
        Ok(lock)
    }

    /// Writes the addresses of this server and its admin listener to the lock file. The operator's
    /// commands show the addresses, and so does the error of a second server.
    pub fn record_addresses(
        &mut self,
        address: SocketAddr,
        admin: Option<SocketAddr>,
    ) -> io::Result<()> {
        let admin = admin.map_or("off".to_string(), |admin| admin.to_string());
        self.write(&format!("pid {}, {address}, admin {admin}", std::process::id()))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())
    }
}

/// Prevents servers from starting in this data directory until the returned file is dropped. For
/// commands that change what a server relies on. Creates the directory if it is missing. Fails if a
/// server has the store.
pub fn keep_servers_away(directory: &Path) -> Result<File, StoreError> {
    let file = open(directory)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(file),
        Err(error) => Err(refusal(error, file, directory)),
    }
}

/// Returns the description that a running server wrote to the lock file, or `None` if no server has
/// the store in this directory.
pub fn running_server(directory: &Path) -> Result<Option<String>, StoreError> {
    existing_store(directory)?;
    let mut file = open(directory)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
        Err(TryLockError::Error(error)) => Err(lock_error(directory, error)),
    }
}

fn open(directory: &Path) -> Result<File, StoreError> {
    let file =
        create(directory).and_then(|()| private_file(&directory.join(LOCK_FILE_NAME), directory));
    file.map_err(|error| lock_error(directory, error))
}

/// The error for a lock file that cannot be created or locked.
fn lock_error(directory: &Path, error: io::Error) -> StoreError {
    let path = directory.join(LOCK_FILE_NAME);
    let doing = format!("lock {}{}", path.display(), advice(&error));
    StoreError::File { doing, source: error.into() }
}

fn used_by_command(directory: &Path) -> StoreError {
    StoreError::Refused(format!(
        "a command, such as restore, uses the store in {}; start the server when that has ended",
        directory.display()
    ))
}

/// The error for a lock that cannot be taken, usually because a server has it.
fn refusal(error: TryLockError, mut file: File, directory: &Path) -> StoreError {
    match error {
        TryLockError::Error(error) => lock_error(directory, error),
        TryLockError::WouldBlock => {
            let holder = match read_holder(&mut file) {
                holder if holder.is_empty() => holder,
                holder => format!(" ({holder})"),
            };
            StoreError::Refused(format!(
                "a server{holder} has the store in {} already; stop it first, or choose another \
                 --data-dir",
                directory.display()
            ))
        }
    }
}

/// Reads the holder's description of itself. The result is empty if the holder is still writing.
fn read_holder(file: &mut File) -> String {
    std::io::read_to_string(file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_at_most_one_server() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = ServerLock::take(directory.path()).unwrap();
        first.record_addresses("127.0.0.1:8080".parse().unwrap(), None).unwrap();
        let refusal = ServerLock::take(directory.path()).unwrap_err().to_string();
        let named = format!("(pid {}, 127.0.0.1:8080, admin off)", std::process::id());
        assert!(refusal.contains(&named), "{refusal}");
        let refusal = keep_servers_away(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains(&named), "{refusal}");
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
