//! The order in which processes write: a file in the data directory that a command keeps
//! locked while it waits to write, and at which the server lets it pass.
//!
//! SQLite has no queue of writers: each polls, and a server that begins its next batch
//! microseconds after the last one would be found at it by every poll of a command.
//! So, before each batch, the server looks whether the file is locked, and steps aside.
//! The lock is flock(2), which the system releases however its holder ends. The file's
//! one byte makes a server and several commands alternate.

use super::directory::private_file;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file in the data directory. It is never removed: only the lock on it counts.
const FILE_NAME: &str = "write-intent.lock";

/// How often a waiting process looks again.
pub const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// How long the server steps aside for a command, which may have been stopped.
const STEP_ASIDE_TIMEOUT: Duration = Duration::from_millis(100);

/// How long a command lets the server write first. By then the server has given up, or
/// it ended and left its state in the file.
const SERVER_NEXT_TIMEOUT: Duration = Duration::from_secs(4);

/// The byte in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No server waits.
    Idle = b'-' as isize,
    /// A server lets a command pass.
    ServerWaits = b'w' as isize,
    /// A command has passed, and the next one lets the server pass.
    ServerNext = b'n' as isize,
}

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

    /// Locks the file for a command; `None` if another one holds the lock. A file system
    /// without locks has no order of writers.
    pub fn try_declare(&self) -> Option<Intent<'_>> {
        match self.file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => {
                Some(Intent { lock: self, declared: Instant::now() })
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// For the server: lets a command that waits write first, for a bounded time; if
    /// another one `writes` now, that one has the turn. The result is dropped when the
    /// server has its transaction, or has given up.
    pub fn step_aside(&self, writes: impl FnOnce() -> bool) -> SteppedAside<'_> {
        if !self.is_declared() {
            return SteppedAside(None);
        }
        if writes() {
            self.set(State::ServerNext);
        } else if self.state() != State::ServerNext {
            self.set(State::ServerWaits);
            let started = Instant::now();
            while self.state() == State::ServerWaits
                && self.is_declared()
                && started.elapsed() < STEP_ASIDE_TIMEOUT
            {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        SteppedAside(Some(self))
    }

    /// Whether a command holds the lock.
    fn is_declared(&self) -> bool {
        match self.file.try_lock_shared() {
            Ok(()) => {
                // An error would mean that it is not locked.
                let _ = self.file.unlock();
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn state(&self) -> State {
        let mut byte = [0];
        match self.file.read_exact_at(&mut byte, 0).map(|()| byte) {
            Ok([byte]) if byte == State::ServerWaits as u8 => State::ServerWaits,
            Ok([byte]) if byte == State::ServerNext as u8 => State::ServerNext,
            _ => State::Idle,
        }
    }

    /// On a full disk the byte may not be written: writers then do not alternate, and
    /// each still gets its turn within the timeouts.
    fn set(&self, state: State) {
        let _ = self.file.write_all_at(&[state as u8], 0);
    }
}

/// The lock, held by a command that waits.
pub struct Intent<'a> {
    lock: &'a IntentLock,
    declared: Instant,
}

impl Intent<'_> {
    /// Whether the command may try to begin. If the last writer was a command and the
    /// server waits, the server is next.
    pub fn may_begin(&self) -> bool {
        self.lock.state() != State::ServerNext || self.declared.elapsed() >= SERVER_NEXT_TIMEOUT
    }

    /// The command has its transaction: the next writer is a server that waits.
    pub fn fulfil(self) {
        match self.lock.state() {
            State::ServerWaits => self.lock.set(State::ServerNext),
            // The server ended.
            State::ServerNext => self.lock.set(State::Idle),
            State::Idle => {}
        }
    }
}

impl Drop for Intent<'_> {
    fn drop(&mut self) {
        // An error would mean that it is not locked.
        let _ = self.lock.file.unlock();
    }
}

/// The server has let commands pass, if one waited.
pub struct SteppedAside<'a>(Option<&'a IntentLock>);

impl Drop for SteppedAside<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.0 {
            lock.set(State::Idle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_steps_aside_for_a_command_but_not_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let [server, command] = [(); 2].map(|()| IntentLock::open(directory.path()).unwrap());
        assert!(server.step_aside(|| false).0.is_none(), "no command waits");
        // Stopped, for all that the server knows.
        let intent = command.try_declare().unwrap();
        let started = Instant::now();
        assert!(server.step_aside(|| false).0.is_some());
        assert!(started.elapsed() >= STEP_ASIDE_TIMEOUT);
        drop(intent);
        assert!(server.step_aside(|| false).0.is_none(), "the command ended");
    }

    #[test]
    fn after_a_command_a_waiting_server_is_next() {
        let directory = tempfile::tempdir().unwrap();
        let [server, first, second] = [(); 3].map(|()| IntentLock::open(directory.path()).unwrap());
        let intent = first.try_declare().unwrap();
        assert!(second.try_declare().is_none(), "commands queue");
        let waiting = server.step_aside(|| false);
        // Its wait timed out, but nothing was written since.
        assert!(intent.may_begin());
        server.set(State::ServerWaits);
        intent.fulfil();
        let intent = second.try_declare().unwrap();
        assert!(!intent.may_begin(), "the server is next");
        drop(waiting);
        assert!(intent.may_begin());
    }

    #[test]
    fn the_state_that_an_ended_server_left_holds_up_one_command() {
        let directory = tempfile::tempdir().unwrap();
        let lock = IntentLock::open(directory.path()).unwrap();
        lock.set(State::ServerNext);
        let mut intent = lock.try_declare().unwrap();
        assert!(!intent.may_begin());
        intent.declared = Instant::now().checked_sub(SERVER_NEXT_TIMEOUT).unwrap();
        assert!(intent.may_begin());
        intent.fulfil();
        assert!(lock.try_declare().unwrap().may_begin());
    }
}
