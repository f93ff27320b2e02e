//! The thread that keeps a record up to date while a server runs.

use super::LimitsFile;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How often the record is written. With the time that a write takes, this is
/// what a crash may lose: less than a second of counting.
const WRITTEN_EVERY: Duration = Duration::from_millis(500);

/// A thread that writes a record every half second, until it is told to finish.
#[derive(Debug)]
pub struct LimitsPersister {
    /// The thread ends when this is gone.
    running: Sender<()>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl LimitsPersister {
    /// Starts to keep this record.
    pub fn start(mut record: LimitsFile) -> std::io::Result<LimitsPersister> {
        let (running, told) = channel::<()>();
        let (alive, ended) = channel::<()>();
        std::thread::Builder::new().name("limits".to_string()).spawn(move || {
            let _alive = alive;
            while told.recv_timeout(WRITTEN_EVERY) == Err(RecvTimeoutError::Timeout) {
                record.write();
            }
            record.finish();
        })?;
        Ok(LimitsPersister { running, ended })
    }

    /// Writes what has changed since the last time, and ends. Blocks; a disk that
    /// does not answer holds it up for no longer than this. Says whether the
    /// writing came to its end.
    pub fn finish(self, longest: Duration) -> bool {
        drop(self.running);
        self.ended.recv_timeout(longest) == Err(RecvTimeoutError::Disconnected)
    }
}
