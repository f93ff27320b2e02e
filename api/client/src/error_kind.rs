//! What kind of failure an error is.

/// What kind of failure an [`Error`](crate::Error) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server, or a proxy in front of it, answered with an error: see
    /// [`Error::code`](crate::Error::code) and
    /// [`Error::status`](crate::Error::status).
    Response,
    /// No connection could be opened, or it was lost before the response.
    Connection,
    /// The connection or the server took longer than the time-outs allow.
    Timeout,
    /// The call as a whole took longer than its
    /// [`call_timeout`](crate::ClientBuilder::call_timeout).
    CallTimeout,
    /// The request was not sent, or not sent again, because the rate limit holds for longer than
    /// the call may wait: see [`Error::retry_after`](crate::Error::retry_after).
    RateLimit,
    /// The response broke off in its body.
    IncompleteBody,
    /// The status is one of success, but the response is not one that the API
    /// documents: a proxy in front of the service may have answered.
    InvalidBody,
    /// The request could not be made.
    Request,
}

impl ErrorKind {
    /// The kind of a failure to send a request and to receive its response.
    pub(crate) fn of_sending(error: &reqwest::Error) -> Self {
        Self::of(error, ErrorKind::Connection)
    }

    /// The kind of a failure to receive the body of a response.
    pub(crate) fn of_body(error: &reqwest::Error) -> Self {
        Self::of(error, ErrorKind::IncompleteBody)
    }

    fn of(error: &reqwest::Error, otherwise: Self) -> Self {
        match error {
            error if error.is_timeout() => ErrorKind::Timeout,
            error if error.is_builder() => ErrorKind::Request,
            _ => otherwise,
        }
    }
}
