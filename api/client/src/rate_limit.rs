//! The figures that every response carries about its limit.

use crate::{Error, ResponseValue};
use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use std::time::Duration;

/// How much may still be sent: the limit, minute or day, in which fewer
/// requests remain.
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
    /// The figures in these headers, if all three are there.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let reset = i64::try_from(number("x-ratelimit-reset")?).ok()?;
        Some(Self {
            limit: number("x-ratelimit-limit")?,
            remaining: number("x-ratelimit-remaining")?,
            reset: DateTime::from_timestamp(reset, 0)?,
        })
    }
}

/// What the headers of a response say, whether it was a success or an error.
pub trait ResponseHeaders {
    /// The headers, if there was a response that could be read.
    fn response_headers(&self) -> Option<&HeaderMap>;

    /// How much may still be sent.
    fn rate_limit(&self) -> Option<RateLimit> {
        RateLimit::from_headers(self.response_headers()?)
    }

    /// How long the server asks to wait.
    fn retry_after(&self) -> Option<Duration> {
        crate::retry_after::retry_after(self.response_headers()?)
    }

    /// Identifies the request in the server's log: name it when you report a
    /// problem.
    fn request_id(&self) -> Option<&str> {
        self.response_headers()?.get("x-request-id")?.to_str().ok()
    }
}

impl<T> ResponseHeaders for ResponseValue<T> {
    fn response_headers(&self) -> Option<&HeaderMap> {
        Some(self.headers())
    }
}

impl<E> ResponseHeaders for Error<E> {
    fn response_headers(&self) -> Option<&HeaderMap> {
        match self {
            Error::ErrorResponse(response) => Some(response.headers()),
            Error::UnexpectedResponse(response) => Some(response.headers()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use reqwest::header::HeaderValue;

    fn headers(reset: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("X-RateLimit-Limit", HeaderValue::from_static("300"));
        headers.insert("X-RateLimit-Remaining", HeaderValue::from_static("299"));
        headers.insert("X-RateLimit-Reset", HeaderValue::from_static(reset));
        headers
    }

    #[test]
    fn answers_and_errors_have_figures() {
        let response = || ResponseValue::new((), StatusCode::OK, headers("1796083260"));
        let figures = response().rate_limit().unwrap();
        assert_eq!((figures.limit, figures.remaining), (300, 299));
        assert_eq!(figures.reset.timestamp(), 1_796_083_260);
        assert_eq!(Error::ErrorResponse(response()).rate_limit(), Some(figures));
        assert_eq!(Error::<()>::Custom(String::new()).rate_limit(), None);
    }

    #[test]
    fn figures_that_are_none_are_none() {
        for reset in ["", "soon", "-1", "9223372036854775807", "99999999999999999999"] {
            assert_eq!(RateLimit::from_headers(&headers(reset)), None, "{reset}");
        }
        assert_eq!(RateLimit::from_headers(&HeaderMap::new()), None);
    }
}
