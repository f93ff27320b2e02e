//! Checks the responses of a test against the documents, and collects the violations. A test can
//! also read the observed requests and responses.

use super::check::wire_check;
use super::messages::{Exchange, ReceivedResponse, SentRequest};
use parking_lot::Mutex;
use std::sync::Arc;

/// Checks the responses of a test. Dropping the observer fails the test if violations are left that
/// [`Observer::take_violations`] has not taken.
#[derive(Default)]
pub struct Observer {
    shared: SharedObserver,
}

/// A handle for the tasks that pass responses to an [`Observer`]. The mutex is parking_lot's,
/// because a panic does not poison such a mutex. With a poisoned mutex, dropping the observer would
/// panic again and abort all tests.
#[derive(Clone, Default)]
pub struct SharedObserver(Arc<Mutex<Observed>>);

#[derive(Default)]
struct Observed {
    violations: Vec<String>,
    /// The requests and responses; `None` unless a test asks for them, because lists may be large.
    exchanges: Option<Vec<Exchange>>,
}

impl Observer {
    pub fn shared(&self) -> SharedObserver {
        self.shared.clone()
    }

    pub fn keep_exchanges(&self) {
        self.shared.0.lock().exchanges.get_or_insert_default();
    }

    /// Returns the requests and responses since the call of [`Observer::keep_exchanges`].
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.0.lock().exchanges.clone().unwrap_or_default()
    }

    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.0.lock().violations)
    }
}

impl SharedObserver {
    pub fn response(&self, sent: &SentRequest, received: &ReceivedResponse) {
        let violations = wire_check().check(sent, received);
        let mut observed = self.0.lock();
        let violations =
            violations.iter().map(|violation| describe(sent, received.status, violation));
        observed.violations.extend(violations);
        if let Some(exchanges) = &mut observed.exchanges {
            exchanges.push((sent.clone(), received.clone()));
        }
    }

    pub fn cut_body(&self, sent: &SentRequest, status: u16) {
        let violation = describe(sent, status, "the body ended early");
        self.0.lock().violations.push(violation);
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

fn describe(sent: &SentRequest, status: u16, violation: &str) -> String {
    format!("{} {}: {status}: {violation}", sent.method, sent.target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_panics_leaves_the_observer_usable() {
        let observer = Observer::default();
        let shared = observer.shared();
        let task = std::thread::spawn(move || {
            let _observed = shared.0.lock();
            panic!("a task of the test panics");
        });
        assert!(task.join().is_err());
        assert_eq!(observer.take_violations(), [""; 0]);
    }
}
