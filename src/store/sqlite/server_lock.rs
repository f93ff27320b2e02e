//! One server per store: a file in the data directory that the server keeps locked. The
//! operator's commands do not take the lock: they work while a server runs.

use super::directory::{create, existing_store, private_file};
use crate::store::StoreError;
use crate::store::error::advice;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a server that starts waits for a command that keeps servers away.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(1);

const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// The file in the data directory. It is never removed: only the lock on it counts, and
/// the system releases that however its holder ends.
const LOCK_FILE_NAME: &str = "server.lock";

/// The right to serve a store, until it is dropped.
#[derive(Debug)]
pub struct ServerLock {
    file: File,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another server holds it.
    #[error(
        "a server{holder} has the store in {} already; stop it first, or choose another --data-dir",
        directory.display()
    )]
    Held {
        /// The data directory.
        directory: PathBuf,
        /// What the other server wrote about itself, in brackets, if anything.
        holder: String,
    },
    /// The file cannot be created or locked.
    #[error("cannot lock {}{}", path.display(), advice(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ServerLock {
    /// Takes the lock of this data directory, which is created if missing.
    pub fn take(directory: &Path) -> Result<ServerLock, LockError> {
        let file = open(directory)?;
        let started = Instant::now();
        while let Err(error) = file.try_lock() {
            if started.elapsed() >= COMMAND_TIMEOUT || matches!(error, TryLockError::Error(_)) {
                return Err(refused(error, file, directory));
            }
            std::thread::sleep(RETRY_INTERVAL);
        }
        let mut lock = ServerLock { file };
        lock.write(&format!("pid {}", std::process::id()))
            .map_err(|source| LockError::Io { path: directory.join(LOCK_FILE_NAME), source })?;
        Ok(lock)
    }

    /// Writes where this server listens, for the error that the next one gets.
    pub fn record_address(&mut self, address: SocketAddr) -> io::Result<()> {
        self.write(&format!("pid {}, {address}", std::process::id()))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(text.as_bytes())
    }
}

/// Keeps servers away from a store while a command changes what a server relies on. Held
/// by any number of commands, for a moment.
#[derive(Debug)]
pub struct NoServer {
    _file: File,
}

impl NoServer {
    /// Keeps servers away from this data directory, which is created if missing, unless a
    /// server has the store already.
    pub fn hold(directory: &Path) -> Result<NoServer, LockError> {
        let file = open(directory)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(NoServer { _file: file }),
            Err(error) => Err(refused(error, file, directory)),
        }
    }
}

/// What the server that has the store of this directory wrote about itself, if one has it.
pub fn running_server(directory: &Path) -> Result<Option<String>, StoreError> {
    existing_store(directory)?;
    match NoServer::hold(directory) {
        Ok(_) => Ok(None),
        Err(LockError::Held { holder, .. }) => {
            Ok(Some(holder.trim_matches([' ', '(', ')']).to_string()))
        }
        Err(LockError::Io { source, .. }) => {
            Err(StoreError::Directory { path: directory.to_path_buf(), source })
        }
    }
}

fn open(directory: &Path) -> Result<File, LockError> {
    let path = directory.join(LOCK_FILE_NAME);
    let opened = create(directory).and_then(|()| private_file(&path, directory));
    opened.map_err(|source| LockError::Io { path, source })
}

fn refused(error: TryLockError, mut file: File, directory: &Path) -> LockError {
    match error {
        TryLockError::Error(source) => {
            LockError::Io { path: directory.join(LOCK_FILE_NAME), source }
        }
        TryLockError::WouldBlock => {
            LockError::Held { directory: directory.to_path_buf(), holder: holder(&mut file) }
        }
    }
}

/// What the holder wrote: nothing while it is still writing.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.is_empty() => format!(" ({text})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_one_server_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = ServerLock::take(directory.path()).unwrap();
        first.record_address("127.0.0.1:8080".parse().unwrap()).unwrap();
        let refusal = ServerLock::take(directory.path()).unwrap_err().to_string();
        let named = format!("(pid {}, 127.0.0.1:8080)", std::process::id());
        assert!(refusal.contains(&named), "{refusal}");
        let refusal = NoServer::hold(directory.path()).unwrap_err().to_string();
        assert!(refusal.contains(&named), "{refusal}");
        drop(first);
        let commands = [(); 2].map(|()| NoServer::hold(directory.path()).unwrap());
        let starting = std::thread::spawn({
            let directory = directory.path().to_path_buf();
            move || ServerLock::take(&directory)
        });
        drop(commands);
        starting.join().unwrap().unwrap();
    }
}
