//! The thread that writes the counts file while a server runs.

use super::CountsFile;
use slog::{Logger, info, warn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The pause between two writes. A crash loses the counts since the start of the last completed
/// write, usually those of less than a second.
pub const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// A write that takes longer is logged, because a hanging write returns no error.
const SLOW_WRITE: Duration = Duration::from_secs(5);

/// A thread that periodically writes a counts file until [`CountsPersister::finish`].
#[derive(Debug)]
pub struct CountsPersister {
    /// The thread stops when this sender is dropped.
    running: Sender<()>,
    /// Receives true if the thread's last write completed, otherwise false.
    ended: oneshot::Receiver<bool>,
}

impl CountsPersister {
    /// Writes the file once, so that the log reports an unwritable disk immediately. Then starts
    /// the thread that writes the file regularly.
    pub fn start(mut file: CountsFile) -> io::Result<CountsPersister> {
        let progress = log_slow_writes(file.log.clone())?;
        let mut write = move |write: fn(&mut CountsFile) -> bool| {
            // Cannot fail, because the receiver lives until this sender is dropped.
            let _ = progress.send(());
            // The panic hook logs a panic. The next write takes place as usual.
            let is_saved = catch_unwind(AssertUnwindSafe(|| write(&mut file))).unwrap_or(false);
            let _ = progress.send(());
            is_saved
        };
        write(CountsFile::write);
        let (running, stop) = channel::<()>();
        let (completed, ended) = oneshot::channel();
        std::thread::Builder::new().name("limits".to_string()).spawn(move || {
            while stop.recv_timeout(WRITE_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                write(CountsFile::write);
            }
            completed.send(write(CountsFile::finish))
        })?;
        Ok(CountsPersister { running, ended })
    }

    /// Writes the file a last time. Waits at most `longest` for the thread to stop. Returns true if
    /// the write completed by then.
    pub async fn finish(self, longest: Duration) -> bool {
        drop(self.running);
        timeout(longest, self.ended).await == Ok(Ok(true))
    }
}

/// Starts the thread that logs hanging writes. Send a message before and after each write. Drop the
/// sender to stop the thread.
fn log_slow_writes(log: Logger) -> io::Result<Sender<()>> {
    let (progress, messages) = channel();
    let run = move || {
        while messages.recv().is_ok() {
            let began = Instant::now();
            if messages.recv_timeout(SLOW_WRITE) != Err(RecvTimeoutError::Timeout) {
                continue;
            }
            warn!(log, "counts file write hangs"; "seconds" => SLOW_WRITE.as_secs(),
                "effect" => "counting goes on in memory, and a crash forgets it",
                "fix" => "see whether the disk hangs");
            if messages.recv().is_ok() {
                info!(log, "counts file write ended"; "seconds" => began.elapsed().as_secs_f64());
            }
        }
    };
    std::thread::Builder::new().name("limits-watch".to_string()).spawn(run)?;
    Ok(progress)
}

#[cfg(test)]
mod tests {
    use super::super::FILE_NAME;
    use super::*;
    use crate::clock::{Clock, ManualClock, Now};
    use crate::rate_limiter::InMemoryRateLimiter;
    use slog::{Discard, Logger, o};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A clock that panics while `panics` is true, so that a write panics.
    struct PanickingClock {
        clock: ManualClock,
        panics: AtomicBool,
        has_panicked: AtomicBool,
    }

    impl Clock for PanickingClock {
        fn now(&self) -> Now {
            if self.panics.load(Ordering::Relaxed) {
                self.has_panicked.store(true, Ordering::Relaxed);
                panic!("a test lets the clock panic");
            }
            self.clock.now()
        }
    }

    fn start(directory: &Path) -> (CountsPersister, Arc<PanickingClock>) {
        let clock = ManualClock::new(Duration::from_secs(1_000_000));
        let (panics, has_panicked) = Default::default();
        let clock = Arc::new(PanickingClock { clock, panics, has_panicked });
        let (id, log) = ("a store".to_string(), Logger::root(Discard, o!()));
        let limits = Arc::new(InMemoryRateLimiter::new(10, log.clone()));
        let file = CountsFile::open(directory, id, limits, clock.clone(), log);
        (CountsPersister::start(file).unwrap(), clock)
    }

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_last_write_completes_after_an_earlier_one_panicked() {
        let directory = tempfile::tempdir().unwrap();
        let (persister, clock) = start(directory.path());
        clock.panics.store(true, Ordering::Relaxed);
        while !clock.has_panicked.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        clock.panics.store(false, Ordering::Relaxed);
        let file = directory.path().join(FILE_NAME);
        std::fs::remove_file(&file).unwrap();
        assert!(persister.finish(TIMEOUT).await);
        assert!(file.exists());
    }

    #[tokio::test]
    async fn a_last_write_that_fails_or_panics_is_not_reported_as_complete() {
        let directory = tempfile::tempdir().unwrap();
        let (persister, clock) = start(directory.path());
        clock.panics.store(true, Ordering::Relaxed);
        assert!(!persister.finish(TIMEOUT).await);
        let (persister, _) = start(directory.path());
        directory.close().unwrap();
        assert!(!persister.finish(TIMEOUT).await);
    }
}
