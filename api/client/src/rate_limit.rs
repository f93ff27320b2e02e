//! Reads the `X-RateLimit-*` headers. Some responses lack these headers, for example those that a
//! proxy sends itself.

use crate::retry_after::server_now;
use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use std::time::Duration;

/// The maximum time from `Date` to the end of a minute window. It is 2 seconds longer than the
/// window, because the server rounds `X-RateLimit-Reset` up and `Date` down to whole seconds.
const MAX_RESET_DELAY: Duration = Duration::from_secs(62);

/// The rate limit that a response reports. For a valid key, the response reports the account's
/// minute or day window, whichever has fewer requests left. Otherwise, the response reports the
/// limit of the client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// The maximum number of requests in the window.
    pub limit: u64,
    /// The number of requests that remain in the current window of this limit.
    pub remaining: u64,
    /// The time at which the window ends. During a ban, the time at which the ban ends.
    pub reset: DateTime<Utc>,
}

impl RateLimit {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let reset = i64::try_from(number("x-ratelimit-reset")?).ok()?;
        Some(Self {
            limit: number("x-ratelimit-limit")?,
            remaining: number("x-ratelimit-remaining")?,
            reset: DateTime::from_timestamp(reset, 0)?,
        })
    }

    /// Returns the time until the reset, by the server's clock if the response has `Date`. Returns
    /// `None` if the reset has passed or is more than [`MAX_RESET_DELAY`] away. A reset that far
    /// away usually ends a day window or a ban, for which calls do not wait.
    pub(crate) fn resets_in(&self, headers: &HeaderMap) -> Option<Duration> {
        let now = DateTime::<Utc>::from(server_now(headers));
        let resets_in = (self.reset - now).to_std().ok()?;
        (resets_in <= MAX_RESET_DELAY && !resets_in.is_zero()).then_some(resets_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;
    use std::time::SystemTime;

    fn headers(reset: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("X-RateLimit-Limit", HeaderValue::from_static("300"));
        headers.insert("X-RateLimit-Remaining", HeaderValue::from_static("299"));
        headers.insert("X-RateLimit-Reset", HeaderValue::from_static(reset));
        headers
    }

    #[test]
    fn all_three_headers_are_read() {
        let limit = RateLimit::from_headers(&headers("1796083260")).unwrap();
        assert_eq!((limit.limit, limit.remaining), (300, 299));
        assert_eq!(limit.reset.timestamp(), 1_796_083_260);
    }

    #[test]
    fn the_reset_is_relative_to_the_servers_clock_and_at_most_a_minute_away() {
        for (date, resets_in) in [
            ("Tue, 01 Dec 2026 00:00:00 GMT", Some(60)),
            ("Tue, 01 Dec 2026 00:00:59 GMT", Some(1)),
            ("Tue, 01 Dec 2026 00:01:00 GMT", None),
            ("Tue, 01 Dec 2026 09:00:00 GMT", None),
            ("Mon, 30 Nov 2026 23:59:57 GMT", None),
        ] {
            let mut headers = headers("1796083260");
            headers.insert("Date", HeaderValue::from_static(date));
            let limit = RateLimit::from_headers(&headers).unwrap();
            assert_eq!(limit.resets_in(&headers), resets_in.map(Duration::from_secs), "{date}");
        }
        let mut soon = RateLimit::from_headers(&headers("1796083260")).unwrap();
        soon.reset = DateTime::from(SystemTime::now() + Duration::from_secs(30));
        assert_eq!(soon.resets_in(&HeaderMap::new()).unwrap().as_secs(), 29);
    }

    #[test]
    fn malformed_headers_are_ignored() {
        for reset in ["", "soon", "-1", "9223372036854775807", "99999999999999999999"] {
            assert_eq!(RateLimit::from_headers(&headers(reset)), None, "{reset}");
        }
        assert_eq!(RateLimit::from_headers(&HeaderMap::new()), None);
    }
}
