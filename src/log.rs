//! The log: one JSON object a line on standard error, written by a thread of its
//! own, so that nothing waits for a full disk or a closed pipe.

mod buffer;
mod request;

pub use buffer::{LogBuffer, LogTarget};
pub use request::{RequestLine, RequestLog};

use slog::{Drain, FnValue, Level, Logger, Never, OwnedKVList, Record, o};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// A logger whose lines go to this buffer: records of this level and above, or
/// none at all.
pub fn logger(buffer: &Arc<LogBuffer>, level: impl Into<Option<Level>>) -> Logger {
    let Some(level) = level.into() else { return Logger::root(slog::Discard, o!()) };
    let json = slog_json::Json::new(LogTarget::new(Arc::clone(buffer)))
        .add_key_value(o!(
            "msg" => FnValue(|record: &Record<'_>| record.msg().to_string()),
            "level" => FnValue(|record: &Record<'_>| record.level().as_short_str()),
            "time" => FnValue(|_: &Record<'_>| {
                humantime::format_rfc3339_millis(SystemTime::now()).to_string()
            }),
        ))
        .build();
    let drain = Mutex::new(json).filter_level(level);
    Logger::root(drain.ignore_res(), o!())
}

/// What dropshot logs by itself, without its lines for each request and
/// connection, and without what it attaches to them: the whole URI, in which a
/// caller may have put a key.
pub fn for_dropshot(log: &Logger) -> Logger {
    Logger::root(Warnings { log: log.clone() }, o!())
}

struct Warnings {
    log: Logger,
}

impl Drain for Warnings {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        if record.level().is_at_least(Level::Warning) {
            self.log.log(record);
        }
        Ok(())
    }
}

/// An error and what caused it, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
