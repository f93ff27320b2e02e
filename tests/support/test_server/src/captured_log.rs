//! A server's log, kept in memory so that tests can read it.

use slog::{Level, Logger};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store_orders::log::LogBuffer;

/// A log at trace level that keeps every line in memory, formatted as the server writes it.
pub struct CapturedLog {
    written: SharedBytes,
    /// The buffer that the logger writes to. The buffer passes the lines on to `written`.
    pub buffer: Arc<LogBuffer>,
    pub log: Logger,
}

#[derive(Clone, Default)]
struct SharedBytes(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBytes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl CapturedLog {
    pub fn new() -> CapturedLog {
        let output = SharedBytes::default();
        let buffer = LogBuffer::start(output.clone()).unwrap();
        let log = store_orders::log::logger(&buffer, Level::Trace);
        CapturedLog { written: output, buffer, log }
    }

    pub fn text(&self) -> String {
        self.buffer.flush(Duration::from_secs(10));
        assert_eq!(self.buffer.dropped_lines().get(), 0);
        String::from_utf8(self.written.0.lock().unwrap().clone()).unwrap()
    }

    pub fn lines(&self, level: &str) -> Vec<serde_json::Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &serde_json::Value| line["level"] == level).collect()
    }
}
