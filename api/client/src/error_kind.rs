//! The kinds of errors that a call can return, and the mapping of reqwest's errors to them.

/// The kind of an [`Error`](crate::Error), by which a program can decide what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The server or a proxy sent a response that is not a success. See
    /// [`Error::code`](crate::Error::code) and [`Error::status`](crate::Error::status).
    Response,
    /// No connection could be opened, or the connection was lost before the response began.
    Connection,
    /// Opening the connection took longer than
    /// [`connect_timeout`](crate::ClientBuilder::connect_timeout), or the server sent no data for
    /// longer than [`read_timeout`](crate::ClientBuilder::read_timeout).
    Timeout,
    /// The call as a whole took longer than its
    /// [`call_timeout`](crate::ClientBuilder::call_timeout).
    CallTimeout,
    /// The rate limit would have made the call wait beyond
    /// [`RetryPolicy::total`](crate::RetryPolicy::total) or its
    /// [`call_timeout`](crate::ClientBuilder::call_timeout). So the call sent no request, or no
    /// further one. See [`Error::retry_after`](crate::Error::retry_after).
    ///
    /// If the last response was a 429 whose wait would exceed these limits, the kind is
    /// [`ErrorKind::Response`] instead. [`Error::is_rate_limited`](crate::Error::is_rate_limited)
    /// is true in both cases.
    RateLimit,
    /// The body of the response could not be read to its end, for example because the connection
    /// was lost.
    IncompleteBody,
    /// The status is a success, but the API does not document the response. A proxy may have sent
    /// the response.
    InvalidBody,
    /// The request could not be built.
    Request,
}

impl ErrorKind {
    /// Classifies a failure to send a request or to receive the head of its response.
    pub(crate) fn from_send_error(error: &reqwest::Error) -> Self {
        Self::classify(error, ErrorKind::Connection)
    }

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
