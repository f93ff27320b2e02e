//! The options of a call and the record of its attempts. The hooks that send requests receive both
//! as a [`Call`].
//!
//! The record keeps the status and the headers of the last response, because an error of progenitor
//! may lack them.

use crate::attempt::Observer;
use crate::call_queue::CallQueue;
use crate::response::Head;
use crate::retry::RetryPolicy;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The options of a call, and the record of its attempts. Clones share the record:
/// `ClientHooks::exec` writes the record, and the code that awaits the request reads it.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) policy: RetryPolicy,
    pub(crate) observer: Observer,
    pub(crate) timeout: Option<Duration>,
    /// The permits for `max_in_flight` calls; `None` if there is no maximum.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// The queue in which calls wait for the rate limit. All clients that derive from one built
    /// client share this queue.
    pub(crate) queue: Arc<CallQueue>,
    /// The permit that this call has taken from `permits`. The permit is released when the last
    /// clone of this field is dropped, usually after the body of the response was read.
    permit: Arc<OnceLock<OwnedSemaphorePermit>>,
    sent: Arc<OnceLock<Sent>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) attempts: u32,
    /// True if the server may have executed an attempt before the last one.
    pub(crate) may_be_done: bool,
    /// The head of the response to the last attempt, if there was a response.
    pub(crate) head: Option<Head>,
    /// The deadline of the call, and the `call_timeout` that gave this deadline. `None` if there is
    /// no `call_timeout`, or if the deadline would overflow.
    pub(crate) ends: Option<(Instant, Duration)>,
    /// The reason why the client itself ended the call, if it did.
    pub(crate) stopped: Option<Stopped>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stopped {
    /// The call took longer than `limit`. `while_it` says what the call was doing, as in "waited
    /// for the response".
    CallTimeout { limit: Duration, while_it: &'static str },
    /// The call could not send a request before its deadline. `holds_for` is the time for which the
    /// rate limit still forbids requests. Zero means that the call waited for other calls until the
    /// deadline.
    RateLimit { holds_for: Duration },
}

impl Call {
    pub(crate) fn new(policy: RetryPolicy, observer: Observer) -> Self {
        Self { policy, observer, ..Self::default() }
    }

    /// Returns a new call with the same options.
    pub(crate) fn next(&self) -> Self {
        Self { permit: Arc::default(), sent: Arc::default(), ..self.clone() }
    }

    pub(crate) async fn acquire_permit(&self) {
        if let Some(permits) = &self.permits {
            // Fails only if the semaphore is closed, which never happens.
            if let Ok(permit) = permits.clone().acquire_owned().await {
                let result = self.permit.set(permit);
                debug_assert!(result.is_ok(), "a call was sent twice");
            }
        }
    }

    pub(crate) fn record(&self, sent: Sent) {
        let result = self.sent.set(sent);
        debug_assert!(result.is_ok(), "a call was sent twice");
    }

    /// Returns the record of the attempts. The record may be empty, for example if the request
    /// could not be built.
    pub(crate) fn sent(&self) -> Sent {
        self.sent.get().cloned().unwrap_or_default()
    }
}
