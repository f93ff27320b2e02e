//! The options of a call and the record of its attempts. Generated methods pass both, as a
//! [`Call`], to the hooks that send requests.
//!
//! The record keeps the status and headers of the response to the last attempt, because
//! progenitor's errors lack them if the body is not JSON.

use crate::attempt::Observer;
use crate::call_queue::CallQueue;
use crate::response::Head;
use crate::retry::RetryPolicy;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The options of a call, and the record of its attempts. Clones share the record. So the hook in
/// progenitor's client can fill in the record, and the caller can read it.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) policy: RetryPolicy,
    pub(crate) observer: Observer,
    pub(crate) timeout: Option<Duration>,
    /// The permits for `max_in_flight` calls; `None` if there is no maximum.
    pub(crate) permits: Option<Arc<Semaphore>>,
    /// The queue in which calls wait for the rate limit. All clients that come from one `build`
    /// share it, including clones and clients of version 2.
    pub(crate) queue: Arc<CallQueue>,
    /// The permit of this call. It is released when the last clone of this value is dropped. This
    /// happens after the body of the response was read.
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
    /// The deadline of the call, and the `call_timeout` from which it was computed. `None` if the
    /// call has no `call_timeout`, or one that is too long to be added to the current time.
    pub(crate) ends: Option<(Instant, Duration)>,
    /// The reason why the client itself ended the call, if it did.
    pub(crate) stopped: Option<Stopped>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stopped {
    /// The call took longer than `limit`. `while_it` says what the call was doing, as in "waited
    /// for the response".
    CallTimeout { limit: Duration, while_it: &'static str },
    /// The rate limit forbids requests for another `holds_for`, which is longer than the call may
    /// wait. If the call's deadline passed while other calls had their turns, `holds_for` is zero.
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

    /// Stores the record of this call's attempts. A call stores at most one record.
    pub(crate) fn record(&self, sent: Sent) {
        let result = self.sent.set(sent);
        debug_assert!(result.is_ok(), "a call was sent twice");
    }

    /// Returns the record of the attempts. It is empty if no record was stored, for example because
    /// the request could not be built.
    pub(crate) fn sent(&self) -> Sent {
        self.sent.get().cloned().unwrap_or_default()
    }
}
