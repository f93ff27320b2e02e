//! The kinds of errors that a call can return, and the mapping of reqwest's errors to them.

/// The kind of an [`Error`](crate::Error), by which a program can decide what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server, or a proxy in front of it, sent an error response: see
    /// [`Error::code`](crate::Error::code) and
    /// [`Error::status`](crate::Error::status).
    Response,
    /// No connection could be opened, or the connection was lost before the response.
    Connection,
    /// The connection or the server took longer than the timeouts allow.
    Timeout,
    /// The call as a whole took longer than its
    /// [`call_timeout`](crate::ClientBuilder::call_timeout).
    CallTimeout,
    /// The request was not sent or not retried, because the rate limit lasts longer than the call
    /// may wait: see [`Error::retry_after`](crate::Error::retry_after).
    /// [`Error::is_rate_limited`](crate::Error::is_rate_limited) is also true for a 429.
    RateLimit,
    /// The connection was lost in the body of the response.
    IncompleteBody,
    /// The status is a success, but the API does not document this response. A proxy in front of
    /// the service may have sent it.
    InvalidBody,
    /// The request could not be built.
    Request,
}

impl ErrorKind {
    /// Classifies a failure to send a request or to receive the head of its response.
    pub(crate) fn from_send_error(error: &reqwest::Error) -> Self {
        Self::classify(error, ErrorKind::Connection)
    }

    /// Classifies a failure to receive the body of a response.
    pub(crate) fn from_body_error(error: &reqwest::Error) -> Self {
        Self::classify(error, ErrorKind::IncompleteBody)
    }

    fn classify(error: &reqwest::Error, otherwise: Self) -> Self {
        match error {
            error if error.is_timeout() => ErrorKind::Timeout,
            error if error.is_builder() => ErrorKind::Request,
            _ => otherwise,
        }
    }
}
