//! The thread that writes the limits file while a server runs.

use super::LimitsFile;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// With the duration of a write, this is what a crash may lose; it must stay below
/// a second of counting.
pub const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// A thread that writes a limits file until it is told to finish.
#[derive(Debug)]
pub struct LimitsPersister {
    /// Dropped to end the thread.
    running: Sender<()>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl LimitsPersister {
    /// Writes the file, so that a disk that refuses it is logged at the start, and starts the
    /// thread.
    pub fn start(mut file: LimitsFile) -> std::io::Result<LimitsPersister> {
        file.write();
        let (running, stop) = channel::<()>();
        let (alive, ended) = channel::<()>();
        std::thread::Builder::new().name("limits".to_string()).spawn(move || {
            let _alive = alive;
            while stop.recv_timeout(WRITE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                file.write();
            }
            file.finish();
        })?;
        Ok(LimitsPersister { running, ended })
    }

    /// Writes what has changed and ends the thread. Blocks, but not past the timeout
    /// if the disk does not respond; returns whether the write completed.
    pub fn finish(self, timeout: Duration) -> bool {
        drop(self.running);
        self.ended.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FILE_NAME;
    use super::*;
    use crate::clock::ManualClock;
    use crate::limits::InMemoryLimits;
    use slog::{Discard, Logger, o};
    use std::sync::Arc;

    #[test]
    fn the_last_write_completes() {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(Duration::from_secs(1_000_000)));
        let (id, log) = ("a store".to_string(), Logger::root(Discard, o!()));
        let limits = Arc::new(InMemoryLimits::new(10, log.clone()));
        let file = LimitsFile::open(directory.path(), id, limits, clock, log);
        let persister = LimitsPersister::start(file).unwrap();
        assert!(persister.finish(Duration::from_secs(60)));
        assert!(directory.path().join(FILE_NAME).exists());
    }
}
