//! The error that a failed call returns, and its message.

use crate::call::{Sent, Stopped};
use crate::error_kind::ErrorKind;
use crate::generated::v1::types::Error as ErrorBody;
use crate::generated::values::ErrorCode;
use crate::rate_limit::RateLimit;
use crate::response::{Head, Response};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// The error that a failed call returns.
///
/// Its `Display` output is one line, such as `409 order_already_shipped: Order 1000 has already
/// shipped and cannot be cancelled. It is unchanged. (request id 5a2bd2f9-…)`.
/// [`source`](std::error::Error::source) returns the underlying error, if any. Neither `Display`
/// nor `Debug` shows the API key.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    sent: Sent,
    body: Option<ErrorBody>,
    source: Option<Source>,
    cursor: Option<String>,
}

impl Error {
    /// Returns the error for a response with an error body of the API. The response's status may be
    /// undocumented.
    pub(crate) fn response(sent: Sent, body: ErrorBody) -> Self {
        let kind = ErrorKind::Response;
        Self(Box::new(Inner { kind, sent, body: Some(body), source: None, cursor: None }))
    }

    /// Returns the error for a response whose body the API does not document. `source` says what is
    /// wrong with the response.
    pub(crate) fn undocumented(sent: Sent, source: impl Into<Source>) -> Self {
        let is_success = sent.head.as_ref().is_some_and(|head| head.status.is_success());
        let kind = if is_success { ErrorKind::InvalidBody } else { ErrorKind::Response };
        Self::new(kind, sent, source)
    }

    pub(crate) fn new(kind: ErrorKind, mut sent: Sent, source: impl Into<Source>) -> Self {
        let source = sent.stopped.is_none().then(|| source.into());
        if let (ErrorKind::Timeout, Some((at, limit))) = (kind, sent.ends)
            && sent.stopped.is_none()
            && Instant::now() >= at
        {
            let while_it = match sent.head {
                Some(_) => "received the response",
                None => "waited for the response",
            };
            sent.stopped = Some(Stopped::CallTimeout { limit, while_it });
        }
        let kind = match sent.stopped {
            Some(Stopped::CallTimeout { .. }) => ErrorKind::CallTimeout,
            Some(Stopped::RateLimit { .. }) => ErrorKind::RateLimit,
            None => kind,
        };
        Self(Box::new(Inner { kind, sent, body: None, source, cursor: None }))
    }

    pub(crate) fn at_cursor(mut self, cursor: Option<String>) -> Self {
        self.0.cursor = cursor;
        self
    }

    /// The cursor with which the failed page was requested. `None` if the request had no cursor.
    ///
    /// The same request with this cursor continues the list at the failed page. A stream has
    /// already returned all orders of earlier pages.
    pub fn cursor(&self) -> Option<&str> {
        self.0.cursor.as_deref()
    }

    /// The kind of failure, for example an error response, a lost connection or an exceeded time
    /// limit.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The API's error code. `None` if there was no response, or if the body is not an error of the
    /// API. See also [`status`](Self::status).
    pub fn code(&self) -> Option<ErrorCode> {
        self.body().map(ErrorBody::error_code)
    }

    /// The error in the response's body. `None` if there was no response, or if the body is not an
    /// error of the API.
    pub fn body(&self) -> Option<&ErrorBody> {
        self.0.body.as_ref()
    }

    /// The HTTP status of the response to the last attempt, if there was a response.
    pub fn status(&self) -> Option<StatusCode> {
        self.head().map(|head| head.status)
    }

    /// True if the last response was a 429, or if the rate limit would have delayed the call beyond
    /// its time limits ([`ErrorKind::RateLimit`]).
    ///
    /// A 429 has the code `rate_limit_exceeded` or `key_banned`. [`retry_after`](Self::retry_after)
    /// returns the time to wait, if it is known.
    pub fn is_rate_limited(&self) -> bool {
        self.kind() == ErrorKind::RateLimit || self.status() == Some(StatusCode::TOO_MANY_REQUESTS)
    }

    /// Returns the headers of the response to the last attempt, if there was a response.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.head().map(|head| &head.headers)
    }

    /// The limit in force and the remaining requests. `None` without a response, or if an
    /// `X-RateLimit-*` header is missing or malformed.
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.head()?.rate_limit()
    }

    /// The time to wait, from a valid `Retry-After` in the response.
    ///
    /// For [`ErrorKind::RateLimit`], the time until the rate limit allows requests again. Zero
    /// means that the call waited for other calls until its deadline.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.0.sent.stopped {
            Some(Stopped::RateLimit { holds_for }) => Some(holds_for),
            _ => self.head()?.retry_after(),
        }
    }

    /// The last attempt's `x-request-id`, which the server's log contains. Quote this id when you
    /// report a problem.
    pub fn request_id(&self) -> Option<&str> {
        self.head()?.request_id()
    }

    /// The number of times that the request was sent: 1 without retries, 0 if the call failed
    /// before its first attempt.
    pub fn attempts(&self) -> u32 {
        self.0.sent.attempts
    }

    /// True if the error has one of `codes`, and may occur because an earlier attempt succeeded.
    pub(crate) fn follows_success(&self, codes: &[ErrorCode]) -> bool {
        self.0.sent.may_be_done && self.code().is_some_and(|code| codes.contains(&code))
    }

    /// Converts the error to a response with this value. Fails with the unchanged error if there
    /// was no response.
    pub(crate) fn into_response<T>(self, value: T) -> Result<Response<T>, Self> {
        match &self.0.sent.head {
            Some(head) => Ok(Response::new(value, head.clone(), self.attempts())),
            None => Err(self),
        }
    }

    fn head(&self) -> Option<&Head> {
        self.0.sent.head.as_ref()
    }

    fn message(&self) -> String {
        if let (Some(body), Some(status)) = (self.body(), self.status()) {
            let (code, message) = (&body.code, &body.message);
            return format!("{} {code}: {message}", status.as_u16());
        }
        if let Some(stopped) = self.0.sent.stopped {
            return stopped_message(stopped);
        }
        let status = self.status().map(|status| format!("{status}: ")).unwrap_or_default();
        let what = match self.kind() {
            ErrorKind::Response => "not an error of the API, so a proxy may have answered",
            ErrorKind::InvalidBody => "not what the API documents, so a proxy may have answered",
            ErrorKind::IncompleteBody => "the response broke off in its body",
            ErrorKind::Request => "the request could not be made",
            _ => return format!("{status}{}", self.connection_message()),
        };
        format!("{status}{what}")
    }

    /// Returns the message for an expired timeout or a failed connection. The message for a failed
    /// connection contains the innermost cause.
    fn connection_message(&self) -> String {
        let source = self.0.source.as_deref();
        let source = source.and_then(|source| source.downcast_ref::<reqwest::Error>());
        let host = source.and_then(reqwest::Error::url).and_then(|url| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            Some(format!("{}{port}", url.host_str()?))
        });
        let host = host.unwrap_or_else(|| "the server".to_string());
        if self.kind() == ErrorKind::Timeout {
            return match source.is_some_and(reqwest::Error::is_connect) {
                true => format!("no connection to {host} within `connect_timeout`"),
                false => format!("{host} did not answer within `read_timeout`"),
            };
        }
        let causes = std::iter::successors(std::error::Error::source(self), |error| error.source());
        let cause = causes.last().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("the connection to {host} failed{cause}")
    }
}

fn stopped_message(stopped: Stopped) -> String {
    match stopped {
        Stopped::CallTimeout { limit, while_it } => {
            format!("the call took longer than its `call_timeout` of {limit:?} while it {while_it}")
        }
        Stopped::RateLimit { holds_for: Duration::ZERO } => {
            "other calls had their turns under the rate limit for longer than this one may wait"
                .to_string()
        }
        Stopped::RateLimit { holds_for } => {
            format!(
                "the rate limit holds for another {holds_for:.1?}, longer than this call may wait"
            )
        }
    }
}

impl ErrorBody {
    /// Returns the `code` as an enum. A code that this version of the client does not know becomes
    /// [`ErrorCode::Other`].
    pub fn error_code(&self) -> ErrorCode {
        ErrorCode::from(self.code.as_str())
    }
}

/// Prints one line, even if the response contains line breaks.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = match (self.attempts(), self.0.sent.stopped) {
            (0, Some(_)) => Some("not sent".to_string()),
            (1, Some(_)) => Some("after 1 attempt".to_string()),
            (0 | 1, None) => None,
            (attempts, _) => Some(format!("after {attempts} attempts")),
        };
        let details = [
            self.request_id().map(|id| format!("request id {id}")),
            attempts,
            self.0.cursor.as_ref().map(|cursor| format!("at cursor {cursor}")),
        ];
        let details = details.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let details = if details.is_empty() { details } else { format!(" ({details})") };
        let line_breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        f.write_str(&(self.message() + &details).replace(line_breaks, " "))
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

    fn sent(status: StatusCode, attempts: u32, may_be_done: bool) -> Sent {
        let mut headers = HeaderMap::new();
        headers.insert("Retry-After", HeaderValue::from_static("9"));
        headers.insert("x-request-id", HeaderValue::from_static("5a2bd2f9"));
        let head = Some(Head { status, headers });
        Sent { attempts, may_be_done, head, ..Sent::default() }
    }

    fn body(code: &str, message: &str, status: i64) -> ErrorBody {
        ErrorBody { code: code.to_string(), message: message.to_string(), status }
    }

    #[test]
    fn an_error_response_has_a_code_and_headers() {
        let limited = sent(StatusCode::TOO_MANY_REQUESTS, 1, false);
        let error = Error::response(limited, body("rate_limit_exceeded", "Wait.", 429));
        assert_eq!(error.to_string(), "429 rate_limit_exceeded: Wait. (request id 5a2bd2f9)");
        assert_eq!(error.code(), Some(ErrorCode::RateLimitExceeded));
        assert_eq!(error.status(), Some(StatusCode::TOO_MANY_REQUESTS));
        assert_eq!((error.retry_after(), error.attempts()), (Some(Duration::from_secs(9)), 1));
    }

    #[test]
    fn a_429_and_a_wait_that_is_too_long_are_rate_limited() {
        let limited = || sent(StatusCode::TOO_MANY_REQUESTS, 1, false);
        for code in ["rate_limit_exceeded", "key_banned"] {
            assert!(Error::response(limited(), body(code, "Wait.", 429)).is_rate_limited());
        }
        assert!(Error::undocumented(limited(), "no JSON").is_rate_limited());
        let stopped = Some(Stopped::RateLimit { holds_for: Duration::from_secs(9) });
        let not_sent = Sent { stopped, ..Sent::default() };
        assert!(Error::new(ErrorKind::Connection, not_sent, "not sent").is_rate_limited());

        let unavailable = sent(StatusCode::SERVICE_UNAVAILABLE, 1, false);
        assert!(!Error::undocumented(unavailable, "no JSON").is_rate_limited());
        assert!(!Error::new(ErrorKind::Connection, Sent::default(), "reset").is_rate_limited());
    }

    #[test]
    fn an_undocumented_response_has_a_status_and_headers() {
        let error = Error::undocumented(sent(StatusCode::BAD_GATEWAY, 5, true), "no JSON");
        assert_eq!(
            error.to_string(),
            "502 Bad Gateway: not an error of the API, so a proxy may have answered \
             (request id 5a2bd2f9, after 5 attempts)"
        );
        assert_eq!((error.kind(), error.code()), (ErrorKind::Response, None));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(9)));
        let error = Error::undocumented(sent(StatusCode::OK, 1, false), "no JSON");
        assert_eq!(error.kind(), ErrorKind::InvalidBody);
    }

    #[test]
    fn a_404_may_follow_a_success_of_an_earlier_attempt() {
        let not_found = || body("order_not_found", "There is no order 1.", 404);
        let follows =
            |sent, body| Error::response(sent, body).follows_success(&[ErrorCode::OrderNotFound]);
        assert!(follows(sent(StatusCode::NOT_FOUND, 2, true), not_found()));
        assert!(!follows(sent(StatusCode::NOT_FOUND, 1, false), not_found()));
        assert!(!follows(sent(StatusCode::NOT_FOUND, 2, true), body("not_found", "No path.", 404)));
    }

    #[test]
    fn an_error_is_displayed_on_one_line() {
        let message = "Two\r\nlines\u{2028}and a\u{7}bell.";
        let error =
            Error::response(sent(StatusCode::CONFLICT, 1, false), body("a\nb", message, 409));
        assert_eq!(error.to_string(), "409 a b: Two  lines and a bell. (request id 5a2bd2f9)");
    }

    #[test]
    fn without_a_response_there_is_a_source() {
        let sent = Sent { attempts: 3, ..Sent::default() };
        let error = Error::new(ErrorKind::Connection, sent, "reset");
        assert_eq!(
            error.to_string(),
            "the connection to the server failed: reset (after 3 attempts)"
        );
        assert_eq!((error.status(), error.code(), error.rate_limit()), (None, None, None));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "reset");
    }
}
