//! An attempt to send a request, and the observer to which the client reports each attempt.

use crate::error_kind::ErrorKind;
use reqwest::StatusCode;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An attempt of a call, and the wait that follows. The callback of
/// [`ClientBuilder::on_attempt`](crate::ClientBuilder::on_attempt) gets this value.
///
/// The `Display` output is one line for a log, without the key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// The operation of the API, in snake case, such as `cancel_order`. Several methods may call
    /// one operation: for `cancel_order_if_unchanged`, the operation is `cancel_order` as well.
    pub operation: &'static str,
    /// The number of the attempt within the call, from 1.
    pub number: u32,
    /// The status of the response, or the kind of failure if there was no response.
    pub outcome: Result<StatusCode, ErrorKind>,
    /// The id of this attempt in the server's log, from the `x-request-id` of the response.
    pub request_id: Option<&'a str>,
    /// The planned wait before the next attempt. `None` if the client will not try again.
    ///
    /// The actual wait may be longer, because the next attempt also waits for the rate limit and
    /// for earlier calls. If the actual wait would exceed the call's time limit, the call fails.
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

type Callback = dyn Fn(&Attempt<'_>) + Send + Sync;

/// The callback that the program passed to `on_attempt`, if any.
#[derive(Clone, Default)]
pub(crate) struct Observer(Option<Arc<Callback>>);

impl Observer {
    pub(crate) fn new(callback: impl Fn(&Attempt<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(callback)))
    }

    pub(crate) fn notify(&self, attempt: &Attempt<'_>) {
        if let Some(callback) = &self.0 {
            callback(attempt);
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
    fn an_attempt_is_displayed_on_one_line() {
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
