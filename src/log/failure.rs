//! The log lines for failed requests and for a failed server.

use http::StatusCode;
use serde_json::json;
use slog::{Logger, error};
use std::fmt;
use std::time::SystemTime;

/// Logs why a request failed. The response's `status` must be 500 or more.
pub fn log_failed_request(
    log: &Logger,
    request_id: &str,
    status: StatusCode,
    why: &dyn fmt::Display,
) {
    error!(log, "request failed"; "request_id" => request_id, "status" => status.as_u16(),
        "error" => %why);
}

/// Formats the last log line of a server that failed, without a newline.
pub fn failure_line(at: SystemTime, error: &str) -> String {
    let time = humantime::format_rfc3339_millis(at).to_string();
    json!({ "time": time, "level": "ERROR", "msg": "serve failed", "error": error }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_error_is_one_line_of_json() {
        let line = failure_line(SystemTime::UNIX_EPOCH, "a \"b\"\nc");
        assert_eq!(
            line,
            r#"{"time":"1970-01-01T00:00:00.000Z","level":"ERROR","msg":"serve failed","error":"a \"b\"\nc"}"#
        );
    }
}
