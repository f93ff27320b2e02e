//! The line that says why a server ended: the last one of a log, or the only one.

use serde_json::json;
use std::time::SystemTime;

/// The line, without its end, in the order of every log line's fields.
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
