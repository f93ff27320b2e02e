//! Reads the `X-RateLimit-*` headers, which every response of the API has.

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;

/// The state of the rate limit, minute or day, with fewer requests remaining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// The request limit in force.
    pub limit: u64,
    /// Requests remaining in the current window of that limit.
    pub remaining: u64,
    /// When that limit resets.
    pub reset: DateTime<Utc>,
}

impl RateLimit {
    /// `None` unless all three headers are valid.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let reset = i64::try_from(number("x-ratelimit-reset")?).ok()?;
        Some(Self {
            limit: number("x-ratelimit-limit")?,
            remaining: number("x-ratelimit-remaining")?,
            reset: DateTime::from_timestamp(reset, 0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

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
    fn malformed_headers_are_ignored() {
        for reset in ["", "soon", "-1", "9223372036854775807", "99999999999999999999"] {
            assert_eq!(RateLimit::from_headers(&headers(reset)), None, "{reset}");
        }
        assert_eq!(RateLimit::from_headers(&HeaderMap::new()), None);
    }
}
