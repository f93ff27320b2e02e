//! Passes on dropshot's warnings and errors, if they are useful to an operator.

use parking_lot::Mutex;
use slog::{Drain, Level, Logger, Never, OwnedKVList, Record, info, o};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// Prefix of dropshot's message about a client that disconnected. The message is dropped, because
/// the request's log line has status 499 in this case.
const ABANDONED_PREFIX: &str = "request handling cancelled";

const HANDSHAKE_PREFIX: &str = "tls accept err: ";

/// If dropshot repeats the last message within this time, the repeated message is dropped. While no
/// file descriptor is free, dropshot logs ten errors a second.
const REPEAT_INTERVAL: Duration = Duration::from_secs(10);

/// Returns a logger for dropshot that passes on only warnings and errors. Drops the fields that
/// dropshot adds, because the URI in them may contain a key.
pub fn for_dropshot(log: &Logger) -> Logger {
    let filter = DropshotFilter { log: log.clone(), last: Mutex::default() };
    Logger::root(filter.filter_level(Level::Warning).ignore_res(), o!())
}

struct DropshotFilter {
    log: Logger,
    /// The last message that was passed on, and when.
    last: Mutex<Option<(Instant, String)>>,
}

// `last` is replaced as a whole, so a panic cannot leave it half-written.
impl UnwindSafe for DropshotFilter {}
impl RefUnwindSafe for DropshotFilter {}

impl DropshotFilter {
    fn is_new(&self, message: String) -> bool {
        let mut last = self.last.lock();
        let repeats =
            |(at, text): &(Instant, String)| *text == message && at.elapsed() < REPEAT_INTERVAL;
        if last.as_ref().is_some_and(repeats) {
            return false;
        }
        *last = Some((Instant::now(), message));
        true
    }
}

impl Drain for DropshotFilter {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        let message = record.msg().to_string();
        if let Some(error) = message.strip_prefix(HANDSHAKE_PREFIX) {
            // The client causes this error, so the level is info, as for the lines of requests.
            info!(self.log, "TLS handshake failed"; "error" => error);
        } else if !message.starts_with(ABANDONED_PREFIX) && self.is_new(message) {
            self.log.log(record);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LogBuffer, logger};
    use slog::{error, warn};
    use std::io::Write;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct SharedOutput(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn client_faults_are_no_warnings_and_repeats_are_dropped() {
        let output = SharedOutput::default();
        let buffer = LogBuffer::start(output.clone()).unwrap();
        let log = for_dropshot(&logger(&buffer, Level::Debug));
        let log = log.new(o!("uri" => "/v1?key=secret"));
        warn!(log, "request handling cancelled (client disconnected)"; "latency_us" => 5);
        warn!(log, "tls accept err: {}", "unexpected EOF");
        for _ in 0..3 {
            warn!(log, "accept error"; "error" => "Too many open files");
        }
        error!(log, "another");
        info!(log, "accepted connection");
        buffer.flush(Duration::from_secs(10));
        let text = String::from_utf8(output.0.lock().clone()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let text_of = |line: &serde_json::Value, field: &str| {
            line[field].as_str().unwrap_or_default().to_string()
        };
        let logged: Vec<_> = lines
            .iter()
            .map(|line| ["level", "msg", "error"].map(|field| text_of(line, field)))
            .collect();
        assert_eq!(
            logged,
            [
                ["INFO", "TLS handshake failed", "unexpected EOF"],
                ["WARN", "accept error", "Too many open files"],
                ["ERROR", "another", ""],
            ]
        );
        assert!(!text.contains("secret"), "{text}");
    }
}
