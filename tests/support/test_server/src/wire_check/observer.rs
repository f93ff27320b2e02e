//! Collects exchanges, and what in them breaks the contract.

use super::check::wire_check;
use super::messages::{Exchange, ReceivedResponse, SentRequest};
use std::sync::{Arc, Mutex};

/// Observes responses for a test, which fails when this is dropped and one of them
/// broke the contract.
#[derive(Default)]
pub struct Observer {
    shared: SharedObserver,
}

/// What the tasks that see the responses tell an [`Observer`].
#[derive(Clone, Default)]
pub struct SharedObserver(Arc<Mutex<Observed>>);

#[derive(Default)]
struct Observed {
    violations: Vec<String>,
    /// Only where a test wants them: lists may be large.
    exchanges: Option<Vec<Exchange>>,
}

impl Observer {
    /// A handle for tasks.
    pub fn shared(&self) -> SharedObserver {
        self.shared.clone()
    }

    /// From now on exchanges are kept.
    pub fn keep_exchanges(&self) {
        self.shared.0.lock().unwrap().exchanges.get_or_insert_default();
    }

    /// The exchanges that were kept.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.0.lock().unwrap().exchanges.clone().unwrap_or_default()
    }

    /// What broke the contract so far; it is forgotten.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.0.lock().unwrap().violations)
    }
}

impl SharedObserver {
    /// Holds a complete response against the document.
    pub fn response(&self, sent: &SentRequest, received: &ReceivedResponse) {
        let mut observed = self.0.lock().unwrap();
        let violations = wire_check().check(sent, received);
        let violations = violations.iter().map(|found| described(sent, received.status, found));
        observed.violations.extend(violations);
        if let Some(exchanges) = &mut observed.exchanges {
            exchanges.push((sent.clone(), received.clone()));
        }
    }

    /// A response whose body ended early.
    pub fn cut_body(&self, sent: &SentRequest, status: u16) {
        let violation = described(sent, status, "the body ended early");
        self.0.lock().unwrap().violations.push(violation);
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let violations = self.take_violations();
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("the wire does not agree with the document:\n{}", violations.join("\n"));
        }
    }
}

fn described(sent: &SentRequest, status: u16, violation: &str) -> String {
    format!("{} {}: {status}: {violation}", sent.method, sent.target)
}
