//! The buffer between the loggers and standard error. Only the writer thread waits for the output.
//!
//! This module replaces tracing-appender's non-blocking writer, which cannot be flushed with a
//! deadline. That writer also limits the number of lines instead of bytes.

use crate::counter::counter;
use parking_lot::{Condvar, Mutex};
use prometheus::IntCounter;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Once this many bytes are pending, the writer writes them immediately.
const WRITE_THRESHOLD_BYTES: usize = 64 * 1024;
/// The maximum number of pending bytes (about 15,000 lines). Further lines are dropped and counted.
const MAX_PENDING_BYTES: usize = 4 * 1024 * 1024;
/// The writer writes pending lines at least this often, unless the output blocks.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which `flush` checks its deadline.
const FLUSH_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The pending lines. A thread that [`LogBuffer::start`] creates writes them to the output.
#[derive(Debug)]
pub struct LogBuffer {
    state: Mutex<BufferState>,
    /// Notified when the pending lines reach the write threshold, when a flush is requested, and
    /// when a write has ended.
    changed: Condvar,
    dropped_lines: IntCounter,
}

pub fn dropped_lines_counter() -> IntCounter {
    let help = "Lines that could not be written to the log.";
    counter("store_orders_log_lines_dropped_total", help)
}

#[derive(Debug, Default)]
struct BufferState {
    pending: Vec<u8>,
    /// True if the thread has taken bytes that it has not written yet.
    is_writing: bool,
    flush_requested: bool,
}

impl LogBuffer {
    /// Starts a buffer and a thread that writes it to `output`. The thread exits after all owners
    /// have dropped the buffer.
    pub fn start(mut output: impl Write + Send + 'static) -> std::io::Result<Arc<LogBuffer>> {
        let buffer = Arc::new(LogBuffer {
            state: Mutex::default(),
            changed: Condvar::new(),
            dropped_lines: dropped_lines_counter(),
        });
        let weak = Arc::downgrade(&buffer);
        std::thread::Builder::new().name("log".to_string()).spawn(move || {
            let mut lines = Vec::new();
            while let Some(buffer) = weak.upgrade() {
                buffer.take_pending(&mut lines);
                if !lines.is_empty()
                    && output.write_all(&lines).and_then(|()| output.flush()).is_err()
                {
                    let lost = lines.iter().filter(|byte| **byte == b'\n').count();
                    buffer.dropped_lines.inc_by(lost as u64);
                }
                lines.clear();
                buffer.state.lock().is_writing = false;
                buffer.changed.notify_all();
            }
        })?;
        Ok(buffer)
    }

    /// Returns the counter of lines that were dropped or could not be written.
    pub fn dropped_lines(&self) -> &IntCounter {
        &self.dropped_lines
    }

    /// Waits until all lines are written or the timeout has passed.
    pub fn flush(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        while (state.is_writing || !state.pending.is_empty()) && Instant::now() < deadline {
            state.flush_requested = true;
            self.changed.notify_all();
            self.changed.wait_for(&mut state, FLUSH_POLL_INTERVAL);
        }
    }

    pub(super) fn add(&self, line: &[u8]) {
        let mut state = self.state.lock();
        let before = state.pending.len();
        if before + line.len() > MAX_PENDING_BYTES {
            self.dropped_lines.inc();
            return;
        }
        state.pending.extend_from_slice(line);
        if before < WRITE_THRESHOLD_BYTES && state.pending.len() >= WRITE_THRESHOLD_BYTES {
            self.changed.notify_all();
        }
    }

    fn take_pending(&self, lines: &mut Vec<u8>) {
        let mut state = self.state.lock();
        let waits = |state: &mut BufferState| {
            state.pending.len() < WRITE_THRESHOLD_BYTES && !state.flush_requested
        };
        self.changed.wait_while_for(&mut state, waits, WRITE_INTERVAL);
        std::mem::swap(&mut state.pending, lines);
        state.flush_requested = false;
        state.is_writing = true;
    }
}

/// Receives the output of the JSON encoder and passes complete lines to the buffer.
#[derive(Debug)]
pub struct LogTarget {
    buffer: Arc<LogBuffer>,
    line: Vec<u8>,
}

impl LogTarget {
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
