//! Parses `Retry-After` (RFC 9110, 10.2.3).

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// Returns the time to wait, or zero for a date that has passed. The API sends whole seconds, but a
/// proxy may send a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // The text has only digits, so parsing fails only if the number does not fit into a u64.
        return Some(text.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    Some(until.duration_since(server_now(headers)).unwrap_or_default())
}

/// Returns the server's time from `Date`, or else the local time, which may be wrong.
pub(crate) fn server_now(headers: &HeaderMap) -> SystemTime {
    let header = headers.get(DATE).and_then(|date| date.to_str().ok());
    let now = header.and_then(|date| httpdate::parse_http_date(date).ok());
    now.unwrap_or_else(SystemTime::now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn read(text: &str, date: Option<&'static str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers)
    }

    #[test]
    fn reads_seconds() {
        assert_eq!(read("42", None), Some(Duration::from_secs(42)));
        assert_eq!(read("0", None), Some(Duration::ZERO));
        assert_eq!(read("99999999999999999999999", None), Some(Duration::MAX));
        for nothing in ["", "-1", "+1", "1.5", "soon", "1 minute"] {
            assert_eq!(read(nothing, None), None, "{nothing}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn reads_dates_by_the_servers_clock() {
        let now = Some("Tue, 01 Dec 2026 00:00:00 GMT");
        assert_eq!(read("Tue, 01 Dec 2026 00:01:30 GMT", now), Some(Duration::from_secs(90)));
        assert_eq!(read("Mon, 30 Nov 2026 00:00:00 GMT", now), Some(Duration::ZERO));
        let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(90));
        let wait = read(&soon, None).unwrap();
        assert!((88..=90).contains(&wait.as_secs()), "{wait:?}");
    }
}
