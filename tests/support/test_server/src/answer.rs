//! A response as it was received, with assertions for tests.

use crate::NOON;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use store_orders_client::ErrorBody;

#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body. It is still compressed if the server compressed it.
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn text(&self, header: &str) -> &str {
        let value = self.headers.get(header);
        value.unwrap_or_else(|| panic!("{header} is missing in {self:?}")).to_str().unwrap()
    }

    pub fn number(&self, header: &str) -> u64 {
        self.text(header).parse().unwrap()
    }

    pub fn assert_error(&self, status: u16, code: &str) -> String {
        let body = self.json();
        assert_eq!((self.status.as_u16(), body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.text("content-type"), "application/json");
        let error: ErrorBody = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(error.status, i64::from(status));
        assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
        self.assert_common_headers();
        error.message
    }

    /// Returns `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`. The reset is
    /// in seconds since [`NOON`].
    pub fn rate_limit(&self) -> (u64, u64, u64) {
        (
            self.number("x-ratelimit-limit"),
            self.number("x-ratelimit-remaining"),
            self.number("x-ratelimit-reset").checked_sub(NOON.as_secs()).unwrap(),
        )
    }

    pub fn assert_limited(&self, code: &str) -> u64 {
        self.assert_error(429, code);
        assert_eq!(self.number("x-ratelimit-remaining"), 0);
        self.number("retry-after")
    }

    /// Asserts the headers that every response to an API request must have.
    pub fn assert_common_headers(&self) {
        let (limit, remaining) =
            (self.number("x-ratelimit-limit"), self.number("x-ratelimit-remaining"));
        assert!(remaining <= limit, "{remaining} of {limit}");
        assert!(self.number("x-ratelimit-reset") >= NOON.as_secs() / 2);
        assert_eq!(self.text("x-request-id").len(), 36);
        let has_etag = self.headers.contains_key("etag");
        let cache_control = if has_etag { "private, no-cache" } else { "no-store" };
        assert_eq!(self.text("cache-control"), cache_control);
    }
}

pub fn error_of<T: std::fmt::Debug>(
    result: Result<store_orders_client::Response<T>, store_orders_client::Error>,
) -> (u16, String) {
    let error = result.unwrap_err();
    match (error.status(), error.code()) {
        (Some(status), Some(code)) => (status.as_u16(), code.to_string()),
        _ => panic!("expected an error response, got {error:?}"),
    }
}
