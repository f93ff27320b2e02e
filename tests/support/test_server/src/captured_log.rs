//! A log that a test can read.

use slog::{Level, Logger};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store_orders::log::LogBuffer;

/// Every line from trace level up, as the server would write them.
pub struct CapturedLog {
    written: Written,
    /// Where lines wait to be written.
    pub buffer: Arc<LogBuffer>,
    /// Where lines go.
    pub log: Logger,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl CapturedLog {
    /// An empty log.
    pub fn new() -> CapturedLog {
        let written = Written::default();
        let buffer = LogBuffer::start(written.clone()).unwrap();
        let log = store_orders::log::logger(&buffer, Level::Trace);
        CapturedLog { written, buffer, log }
    }

    /// All that was logged so far.
    pub fn text(&self) -> String {
        self.buffer.flush(Duration::from_secs(10));
        assert_eq!(self.buffer.dropped_lines().get(), 0);
        String::from_utf8(self.written.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines of this level: `ERROR`, `WARN`, `INFO`.
    pub fn lines(&self, level: &str) -> Vec<serde_json::Value> {
        let text = self.text();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &serde_json::Value| line["level"] == level).collect()
    }
}
