//! One call: how it is sent, and what its attempts showed. The generated method
//! carries it to the hooks that send, and what they saw back.
//!
//! Progenitor's own errors lack the status and the headers of a response whose
//! body cannot be read as JSON, so they are kept here.

use crate::attempt::Observer;
use crate::response::Head;
use crate::retry::RetryPolicy;
use std::sync::{Arc, OnceLock};

/// How a call is sent, and where the hooks leave what they saw.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub(crate) policy: RetryPolicy,
    pub(crate) observer: Observer,
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
}

impl Call {
    pub(crate) fn new(policy: RetryPolicy, observer: Observer) -> Self {
        Self { policy, observer, ..Self::default() }
    }

    /// The next call, sent the same way.
    pub(crate) fn next(&self) -> Self {
        Self::new(self.policy, self.observer.clone())
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
