//! The log: one JSON object per line on standard error. A thread writes it, so that no request
//! waits for a slow disk or a full pipe.

mod buffer;
mod dropshot_filter;
mod error_chain;
mod failure;
mod request;

pub use buffer::{LogBuffer, LogTarget, dropped_lines_counter};
pub use dropshot_filter::for_dropshot;
pub use error_chain::ErrorChain;
pub use failure::{failure_line, log_failed_request};
pub use request::{RequestLine, RequestLog, traceparent};

use slog::{Drain, FnValue, Level, Logger, Record, o};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Returns a logger that writes records of this level and above to the buffer. Without a level it
/// writes no records.
pub fn logger(buffer: &Arc<LogBuffer>, level: impl Into<Option<Level>>) -> Logger {
    let Some(level) = level.into() else { return Logger::root(slog::Discard, o!()) };
    let json = slog_json::Json::new(LogTarget::new(Arc::clone(buffer)))
        .add_key_value(o!(
            // slog-json writes these fields in reverse order, so each line begins with the time.
            "msg" => FnValue(|record: &Record<'_>| record.msg().to_string()),
            "level" => FnValue(|record: &Record<'_>| level_name(record.level())),
            "time" => FnValue(|_: &Record<'_>| {
                humantime::format_rfc3339_millis(SystemTime::now()).to_string()
            }),
        ))
        .build();
    // slog requires a drain that is `RefUnwindSafe`. The standard library's mutex is, but
    // parking_lot's is not.
    let drain = Mutex::new(json).filter_level(level);
    Logger::root(drain.ignore_res(), o!())
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Critical => "CRITICAL",
        Level::Error => "ERROR",
        Level::Warning => "WARN",
        Level::Info => "INFO",
        Level::Debug => "DEBUG",
        Level::Trace => "TRACE",
    }
}
