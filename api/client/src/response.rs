//! The head of a response, and the result of a successful call.

use crate::rate_limit::RateLimit;
use crate::retry_after::retry_after;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
}

impl Head {
    pub(crate) fn rate_limit(&self) -> Option<RateLimit> {
        RateLimit::from_headers(&self.headers)
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.headers)
    }

    pub(crate) fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }
}

/// The result of a successful call. Dereferences to the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Response<T> {
    value: T,
    head: Head,
    attempts: u32,
}

impl<T> Response<T> {
    pub(crate) fn new(value: T, head: Head, attempts: u32) -> Self {
        Self { value, head, attempts }
    }

    pub(crate) fn map<U>(self, value: impl FnOnce(T) -> U) -> Response<U> {
        Response { value: value(self.value), head: self.head, attempts: self.attempts }
    }

    /// Returns the value, and drops the status, the headers and the number of attempts.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The HTTP status. If a method that ends in `_if_changed` found the value unchanged, the
    /// status is 304. If the outcome of a cancellation is
    /// [`AlreadyGone`](crate::CancelOrderOutcome::AlreadyGone), the status is 404.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// All headers of the response, including those for which there is no method.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The limit in force, the remaining requests, and the time at which the window or the ban
    /// ends, from the `X-RateLimit-*` headers. `None` if one of these headers is missing or
    /// malformed.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.head.rate_limit()
    }

    /// The time to wait before the next request, if the response has a valid `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        self.head.retry_after()
    }

    /// The id under which the server logged the last attempt, from `x-request-id` in the response.
    /// Quote this id when you report a problem.
    pub fn request_id(&self) -> Option<&str> {
        self.head.request_id()
    }

    /// The `ETag`, if the response has one. Pass the `ETag` to a method whose name ends in
    /// `_if_changed`. Such a method returns the value only if the value has changed.
    pub fn etag(&self) -> Option<&str> {
        self.head.headers.get("etag")?.to_str().ok()
    }

    /// The number of times that the request was sent: 1 without retries.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }
}

impl<T> Deref for Response<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Response<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// Iterates over the value, for example the orders of a list.
impl<T: IntoIterator> IntoIterator for Response<T> {
    type Item = T::Item;
    type IntoIter = T::IntoIter;

    fn into_iter(self) -> T::IntoIter {
        self.value.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Response<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.value.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn a_response_has_its_value_and_metadata() {
        let mut headers = HeaderMap::new();
        headers.insert("x-request-id", HeaderValue::from_static("5a2bd2f9"));
        headers.insert("Retry-After", HeaderValue::from_static("7"));
        let response = Response::new(vec![1, 2], Head { status: StatusCode::OK, headers }, 3);
        assert_eq!((response.len(), response.attempts()), (2, 3));
        assert_eq!(response.status(), 200);
        assert_eq!(response.request_id(), Some("5a2bd2f9"));
        assert_eq!(response.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(response.rate_limit(), None);
        assert_eq!(response.clone(), response);
        let mut numbers = Vec::new();
        for number in &response {
            numbers.push(*number);
        }
        assert_eq!(numbers, [1, 2]);
        assert!(response.clone().into_iter().eq([1, 2]));
        assert_eq!(response.into_inner(), [1, 2]);
    }
}
