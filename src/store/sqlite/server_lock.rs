//! One server per store: a file in the data directory that the server keeps locked. The
//! operator's commands do not take the lock: they work while a server runs.

use super::directory::{create, existing_store};
use crate::private_file::private_file;
use crate::store::StoreError;
use crate::store::error::advice;
use std::fs::{File, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server that starts waits for a command that keeps servers away.
const KEPT_AWAY_TIMEOUT: Duration = Duration::from_secs(1);

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The file in the data directory. It is never removed: only the lock on it counts, and
/// the system releases that however its holder ends.
const LOCK_FILE_NAME: &str = "server.lock";

/// The right to serve a store, until it is dropped.
#[derive(Debug)]
pub struct ServerLock {
    file: File,
}

impl ServerLock {
    /// Takes the lock of this data directory, which is created if missing.
    pub fn take(directory: &Path) -> Result<ServerLock, StoreError> {
        let file = open(directory)?;
        let started = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                TryLockError::WouldBlock if started.elapsed() < KEPT_AWAY_TIMEOUT => {
                    std::thread::sleep(RETRY_INTERVAL);
                }
                // Commands share the lock, a server does not.
                TryLockError::WouldBlock if file.try_lock_shared().is_ok() => {
                    return Err(used_by_command(directory));
                }
                error => return Err(refused(error, file, directory)),
            }
        }
        let mut lock = ServerLock { file };
        lock.write(&format!("pid {}", std::process::id()))
            .map_err(|error| not_locked(directory, error))?;
        Ok(lock)
    }

    /// Writes where this server and its admin listener listen, for the error that the next server
    /// gets, and for the commands that ask about this one.
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

/// Keeps servers away from this data directory, which is created if missing, until the file is
/// dropped: for a command that changes what a server relies on. An error if a server has the store
/// already.
pub fn keep_servers_away(directory: &Path) -> Result<File, StoreError> {
    let file = open(directory)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(file),
        Err(error) => Err(refused(error, file, directory)),
    }
}

/// What the server that has the store of this directory wrote about itself, if one has it.
pub fn running_server(directory: &Path) -> Result<Option<String>, StoreError> {
    existing_store(directory)?;
    let mut file = open(directory)?;
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(holder(&mut file))),
        Err(TryLockError::Error(error)) => Err(not_locked(directory, error)),
    }
}

fn open(directory: &Path) -> Result<File, StoreError> {
    let opened =
        create(directory).and_then(|()| private_file(&directory.join(LOCK_FILE_NAME), directory));
    opened.map_err(|error| not_locked(directory, error))
}

/// The file cannot be created or locked.
fn not_locked(directory: &Path, error: io::Error) -> StoreError {
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

fn refused(error: TryLockError, mut file: File, directory: &Path) -> StoreError {
    match error {
        TryLockError::Error(error) => not_locked(directory, error),
        TryLockError::WouldBlock => {
            let holder = match holder(&mut file) {
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

/// What the holder wrote: nothing while it is still writing.
fn holder(file: &mut File) -> String {
    std::io::read_to_string(file).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_one_server_at_a_time() {
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
