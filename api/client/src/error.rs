//! Why a call failed.

use crate::error_code::ErrorCode;
use crate::generated::types;
use crate::rate_limit::RateLimit;
use crate::response::Head;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call failed. Neither its `Display` nor its `Debug` output shows the
/// key.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    head: Option<Head>,
    body: Option<types::Error>,
    source: Option<Source>,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server answered with an error: see [`Error::code`] and
    /// [`Error::status`].
    Response,
    /// No connection could be opened, or it was lost before the response.
    Connection,
    /// The connection or the server took longer than the time-outs allow.
    Timeout,
    /// The response broke off in its body.
    IncompleteBody,
    /// The body of the response is not what the API documents. A proxy
    /// in front of the service may have answered.
    InvalidBody,
    /// The request could not be made.
    Request,
}

impl Error {
    pub(crate) fn response(head: Head, body: Option<types::Error>) -> Self {
        let kind = ErrorKind::Response;
        Self(Box::new(Inner { kind, head: Some(head), body, source: None }))
    }

    pub(crate) fn without_response(kind: ErrorKind, source: impl Into<Source>) -> Self {
        Self(Box::new(Inner { kind, head: None, body: None, source: Some(source.into()) }))
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The API's error code, if the server answered with one.
    pub fn code(&self) -> Option<ErrorCode> {
        self.body().map(types::Error::error_code)
    }

    /// The body of the error response, if it is one of the API.
    pub fn body(&self) -> Option<&types::Error> {
        self.0.body.as_ref()
    }

    /// The HTTP status, if the server answered.
    pub fn status(&self) -> Option<StatusCode> {
        self.head().map(|head| head.status)
    }

    /// All headers of the response, if the server answered.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.head().map(|head| &head.headers)
    }

    /// How many requests remain, from the `X-RateLimit-*` headers.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.head()?.rate_limit()
    }

    /// How long the server asks to wait, from `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        self.head()?.retry_after()
    }

    /// Identifies the request in the server's log: quote it when you report a
    /// problem.
    pub fn request_id(&self) -> Option<&str> {
        self.head()?.request_id()
    }

    fn head(&self) -> Option<&Head> {
        self.0.head.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kind(), self.body(), self.status()) {
            (ErrorKind::Response, Some(body), Some(status)) => {
                write!(f, "{} {}: {}", status.as_u16(), body.code, body.message)
            }
            (ErrorKind::Response, _, Some(status)) => write!(f, "the server answered {status}"),
            (ErrorKind::Response, _, None) => f.write_str("the server answered with an error"),
            (ErrorKind::Connection, ..) => f.write_str("the connection to the server failed"),
            (ErrorKind::Timeout, ..) => f.write_str("the server did not answer in time"),
            (ErrorKind::IncompleteBody, ..) => f.write_str("the response broke off in its body"),
            (ErrorKind::InvalidBody, ..) => {
                f.write_str("the body of the response is not what the API documents")
            }
            (ErrorKind::Request, ..) => f.write_str("the request could not be made"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn answered(body: Option<types::Error>) -> Error {
        let headers =
            HeaderMap::from_iter([(reqwest::header::RETRY_AFTER, HeaderValue::from_static("9"))]);
        Error::response(Head { status: StatusCode::TOO_MANY_REQUESTS, headers }, body)
    }

    #[test]
    fn a_response_tells_its_code_and_headers() {
        let (code, message) = ("rate_limit_exceeded".to_string(), "Wait.".to_string());
        let error = answered(Some(types::Error { code, message, status: 429 }));
        assert_eq!(error.to_string(), "429 rate_limit_exceeded: Wait.");
        assert_eq!(error.code(), Some(ErrorCode::RateLimitExceeded));
        assert_eq!(error.status(), Some(StatusCode::TOO_MANY_REQUESTS));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(9)));
        let error = answered(None);
        assert_eq!(error.to_string(), "the server answered 429 Too Many Requests");
        assert_eq!(error.code(), None);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(9)));
    }

    #[test]
    fn without_a_response_there_is_a_source() {
        let error = Error::without_response(ErrorKind::Connection, "reset");
        assert_eq!(error.kind(), ErrorKind::Connection);
        assert_eq!((error.status(), error.code(), error.rate_limit()), (None, None, None));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "reset");
    }
}
