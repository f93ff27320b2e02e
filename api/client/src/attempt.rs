//! One attempt to send a request, as observers are told of it.

use crate::error_kind::ErrorKind;
use reqwest::StatusCode;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One attempt of a call, and the wait that follows it: what
/// [`ClientBuilder::on_attempt`](crate::ClientBuilder::on_attempt) is told.
///
/// Its `Display` output is a line for a log. It does not show the key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// The method that was called, such as `cancel_order`.
    pub operation: &'static str,
    /// 1 for the first attempt of the call.
    pub number: u32,
    /// The status of the response, or why there is none.
    pub outcome: Result<StatusCode, ErrorKind>,
    /// Identifies this attempt in the server's log.
    pub request_id: Option<&'a str>,
    /// How long the client now waits before the next attempt; `None` if this
    /// one was the last. After a 429 it may be longer, if other calls have their turns before.
    pub wait: Option<Duration>,
}

impl fmt::Display for Attempt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, attempt {}: ", self.operation, self.number)?;
        match self.outcome {
            Ok(status) => write!(f, "{status}")?,
            Err(ErrorKind::Timeout) => f.write_str("no response in time")?,
            Err(ErrorKind::Request) => f.write_str("could not be sent")?,
            Err(_) => f.write_str("connection failed")?,
        }
        if let Some(id) = self.request_id {
            write!(f, " (request id {id})")?;
        }
        match self.wait {
            Some(wait) => write!(f, "; next attempt in {wait:.1?}"),
            None => Ok(()),
        }
    }
}

type Tell = dyn Fn(&Attempt<'_>) + Send + Sync;

/// Who is told of attempts, if anyone.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Tell>>);

impl Observer {
    pub(crate) fn new(tell: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn tell(&self, attempt: &Attempt<'_>) {
        if let Some(tell) = &self.0 {
            tell(attempt);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "set" } else { "none" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_one_line() {
        let attempt = Attempt {
            operation: "cancel_order",
            number: 1,
            outcome: Ok(StatusCode::SERVICE_UNAVAILABLE),
            request_id: Some("5a2bd2f9"),
            wait: Some(Duration::from_millis(2_500)),
        };
        assert_eq!(
            attempt.to_string(),
            "cancel_order, attempt 1: 503 Service Unavailable (request id 5a2bd2f9); \
             next attempt in 2.5s"
        );
        let last = Attempt {
            number: 2,
            outcome: Err(ErrorKind::Connection),
            request_id: None,
            wait: None,
            ..attempt
        };
        assert_eq!(last.to_string(), "cancel_order, attempt 2: connection failed");
    }
}
