//! The lines that say why a request or the server failed.

use http::StatusCode;
use serde_json::json;
use slog::{Logger, error};
use std::fmt;
use std::time::SystemTime;

/// Logs why a request is answered with this status, 500 or more.
pub fn log_failed_request(
    log: &Logger,
    request_id: &str,
    status: StatusCode,
    why: &dyn fmt::Display,
) {
    error!(log, "request failed"; "request_id" => request_id, "status" => status.as_u16(),
        "error" => %why);
}

/// The last line of a server that failed, without its end, in the order of every log line's fields.
pub fn failure_line(at: SystemTime, error: &str) -> String {
    let time = humantime::format_rfc3339_millis(at).to_string();
    json!({ "time": time, "level": "ERROR", "msg": "serve failed", "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_line_of_json_whatever_the_error() {
        let line = failure_line(SystemTime::UNIX_EPOCH, "a \"b\"\nc");
        assert_eq!(
            line,
            r#"{"time":"1970-01-01T00:00:00.000Z","level":"ERROR","msg":"serve failed","error":"a \"b\"\nc"}"#
        );
    }
}
