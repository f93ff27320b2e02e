//! Lines on their way to standard error: gathered under a lock that is held for
//! a copy, written by a thread that alone may wait.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// So many bytes are written at once without waiting for the timer.
const WRITTEN_AT: usize = 64 * 1024;
/// Lines beyond so many waiting bytes are dropped and counted: about 15,000.
const MOST_WAITING: usize = 4 * 1024 * 1024;
/// How long a line waits for others at most.
const WRITTEN_EVERY: Duration = Duration::from_millis(100);

/// The lines that wait, and the thread that writes them.
#[derive(Debug, Default)]
pub struct LogBuffer {
    state: Mutex<State>,
    /// Told when there is much to write, or all of it at once.
    changed: Condvar,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// The thread has taken bytes that it has not written yet.
    writing: bool,
    hurry: bool,
}

impl LogBuffer {
    /// A buffer whose thread writes to `target`. The thread ends when the buffer
    /// has no other owner.
    pub fn start(target: impl Write + Send + 'static) -> std::io::Result<Arc<LogBuffer>> {
        let buffer = Arc::new(LogBuffer::default());
        let own = Arc::downgrade(&buffer);
        std::thread::Builder::new().name("log".to_string()).spawn(move || {
            let mut target = target;
            let mut lines = Vec::new();
            while let Some(buffer) = own.upgrade() {
                buffer.take(&mut lines);
                if !lines.is_empty()
                    && target.write_all(&lines).and_then(|()| target.flush()).is_err()
                {
                    buffer.count_dropped(&lines);
                }
                lines.clear();
                buffer.written();
            }
        })?;
        Ok(buffer)
    }

    /// Lines that were dropped because they could not be written.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, but no longer than this.
    pub fn flush(&self, longest: Duration) {
        let deadline = Instant::now() + longest;
        let mut state = self.lock();
        while (state.writing || !state.waiting.is_empty()) && Instant::now() < deadline {
            state.hurry = true;
            self.changed.notify_all();
            (state, _) = self
                .changed
                .wait_timeout(state, Duration::from_millis(10))
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds a whole line.
    pub(super) fn add(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.waiting.len() + line.len() > MOST_WAITING {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let before = state.waiting.len();
        state.waiting.extend_from_slice(line);
        if before < WRITTEN_AT && state.waiting.len() >= WRITTEN_AT {
            self.changed.notify_all();
        }
    }

    /// Waits for lines, for the timer at most, and takes them.
    fn take(&self, lines: &mut Vec<u8>) {
        let state = self.lock();
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, WRITTEN_EVERY, |state| {
                state.waiting.len() < WRITTEN_AT && !state.hurry
            })
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.waiting, lines);
        state.hurry = false;
        state.writing = true;
    }

    fn written(&self) {
        self.lock().writing = false;
        self.changed.notify_all();
    }

    fn count_dropped(&self, lines: &[u8]) {
        let lost = lines.iter().filter(|byte| **byte == b'\n').count();
        self.dropped.fetch_add(lost as u64, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where the JSON encoder writes: it hands whole lines to the buffer.
#[derive(Debug)]
pub struct LogTarget {
    buffer: Arc<LogBuffer>,
    line: Vec<u8>,
}

impl LogTarget {
    /// A target that fills this buffer.
    pub fn new(buffer: Arc<LogBuffer>) -> LogTarget {
        LogTarget { buffer, line: Vec::with_capacity(512) }
    }
}

impl Write for LogTarget {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") {
            self.buffer.add(&self.line);
            self.line.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
