//! One call: how it is sent, and what its attempts showed. The generated method
//! carries it to the hooks that send, and what they saw back.
//!
//! Progenitor's own errors lack the status and the headers of a response whose
//! body cannot be read as JSON, so they are kept here.

use crate::attempt::Observer;
use crate::response::Head;
use crate::retry::RetryPolicy;
use crate::turns::Turns;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How a call is sent, and where the hooks leave what they saw.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) policy: RetryPolicy,
    pub(crate) observer: Observer,
    /// The limit for the call as a whole.
    pub(crate) timeout: Option<Duration>,
    /// A permit for each call that may be under way.
    pub(crate) places: Option<Arc<Semaphore>>,
    /// Where the calls of all clones wait for the rate limit.
    pub(crate) turns: Arc<Turns>,
    /// Until the body of the response is there, with which the call is dropped.
    place: Arc<OnceLock<OwnedSemaphorePermit>>,
    sent: Arc<OnceLock<Sent>>,
}

/// What the attempts of a call showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// How many there were.
    pub(crate) attempts: u32,
    /// Whether the server may have carried out one before the last.
    pub(crate) may_be_done: bool,
    /// The head of the last response, if there was one.
    pub(crate) head: Option<Head>,
    /// When the call must be over, and how long it may take.
    pub(crate) ends: Option<(Instant, Duration)>,
    /// Why no response to a last attempt was waited for.
    pub(crate) stopped: Option<Stopped>,
}

/// Why a call ended before a response could be its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stopped {
    /// It took longer than this limit.
    CallTimeout { limit: Duration, while_it: &'static str },
    /// The rate limit holds for longer than the call may wait. Zero: others had their turns until
    /// its time was over.
    RateLimit { holds_for: Duration },
}

impl Call {
    pub(crate) fn new(policy: RetryPolicy, observer: Observer) -> Self {
        Self { policy, observer, ..Self::default() }
    }

    /// The next call, sent the same way.
    pub(crate) fn next(&self) -> Self {
        Self { place: Arc::default(), sent: Arc::default(), ..self.clone() }
    }

    /// Waits until the call may be under way.
    pub(crate) async fn take_place(&self) {
        if let Some(places) = &self.places {
            // Fails if the semaphore is closed: never.
            if let Ok(place) = places.clone().acquire_owned().await {
                let taken = self.place.set(place);
                debug_assert!(taken.is_ok(), "a call was sent twice");
            }
        }
    }

    /// Keeps what the attempts showed. A call is sent once.
    pub(crate) fn record(&self, sent: Sent) {
        let recorded = self.sent.set(sent);
        debug_assert!(recorded.is_ok(), "a call was sent twice");
    }

    /// What the attempts showed; no attempts if nothing was sent.
    pub(crate) fn sent(&self) -> Sent {
        self.sent.get().cloned().unwrap_or_default()
    }
}
