//! What dropshot logs, as far as an operator can use it.

use parking_lot::Mutex;
use slog::{Drain, Level, Logger, Never, OwnedKVList, Record, info, o};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

/// How dropshot begins to say that a client went away. The request's own line, with status 499,
/// says it with the client's address.
const ABANDONED: &str = "request handling cancelled";

/// How dropshot begins to say that a TLS handshake failed.
const HANDSHAKE: &str = "tls accept err: ";

/// Without a free file, dropshot says ten times a second that it cannot accept a connection.
const REPEATED_AFTER: Duration = Duration::from_secs(10);

/// The logger for dropshot: warnings and errors only, without the fields that
/// dropshot attaches, because they hold the whole URI and a client may have put a
/// key in it.
pub fn for_dropshot(log: &Logger) -> Logger {
    Logger::root(OfDropshot { log: log.clone(), last: Mutex::default() }, o!())
}

struct OfDropshot {
    log: Logger,
    /// The last warning that was passed on, and when.
    last: Mutex<Option<(Instant, String)>>,
}

// It is replaced whole, whatever panics.
impl UnwindSafe for OfDropshot {}
impl RefUnwindSafe for OfDropshot {}

impl OfDropshot {
    fn is_new(&self, message: String) -> bool {
        let mut last = self.last.lock();
        let repeats =
            |(at, text): &(Instant, String)| *text == message && at.elapsed() < REPEATED_AFTER;
        if last.as_ref().is_some_and(repeats) {
            return false;
        }
        *last = Some((Instant::now(), message));
        true
    }
}

impl Drain for OfDropshot {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        if !record.level().is_at_least(Level::Warning) {
            return Ok(());
        }
        let message = record.msg().to_string();
        if let Some(error) = message.strip_prefix(HANDSHAKE) {
            // Like a request's line: it is a client's doing. dropshot does not tell whose.
            info!(self.log, "TLS handshake failed"; "error" => error);
        } else if !message.starts_with(ABANDONED) && self.is_new(message) {
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
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_clients_do_is_no_warning_and_an_error_is_not_repeated() {
        let written = Written::default();
        let buffer = LogBuffer::start(written.clone()).unwrap();
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
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let text_of = |line: &serde_json::Value, field: &str| {
            line[field].as_str().unwrap_or_default().to_string()
        };
        let told: Vec<_> = lines
            .iter()
            .map(|line| ["level", "msg", "error"].map(|field| text_of(line, field)))
            .collect();
        assert_eq!(
            told,
            [
                ["INFO", "TLS handshake failed", "unexpected EOF"],
                ["WARN", "accept error", "Too many open files"],
                ["ERROR", "another", ""],
            ]
        );
        assert!(!text.contains("secret"), "{text}");
    }
}
