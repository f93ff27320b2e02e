//! The end of a session and its reason, shared by the session's tasks and connections.

use crate::store::StoreError;
use crate::store::postgres::error::unreachable_because;
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use tokio::sync::watch;

/// The reason why a session has ended; none while it is open.
#[derive(Debug, Default)]
pub struct Ending(watch::Sender<Option<String>>);

impl Ending {
    /// Ends the session, if it has not ended.
    pub fn end(&self, why: &dyn std::fmt::Display) {
        self.0.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| why.to_string());
            is_first
        });
    }

    /// Fails if the session has ended.
    pub fn require_open(&self) -> Result<(), StoreError> {
        match &*self.0.borrow() {
            None => Ok(()),
            Some(why) => Err(unreachable_because(&**why)),
        }
    }

    /// Waits until the session has ended. Returns the reason.
    pub async fn ended(&self) -> String {
        let mut why = self.0.subscribe();
        // `wait_for` cannot fail, because `self` owns the sender.
        let ended = why.wait_for(Option::is_some).await;
        ended.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Runs a task of the session. If the task panics, ends the session, because the next session
    /// starts the task again. Otherwise a session without heartbeats, for example, would refuse
    /// every list and key until the server is restarted.
    pub async fn guard<T>(&self, task: &str, work: impl Future<Output = T>) -> Option<T> {
        let result = AssertUnwindSafe(work).catch_unwind().await;
        result.map_err(|_| self.end(&format_args!("the task that {task} panicked"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_ends_the_session() {
        let ending = Ending::default();
        assert_eq!(ending.guard("succeeds", async { 7 }).await, Some(7));
        assert!(ending.require_open().is_ok());
        let panics = async { panic!("a test says so") };
        assert_eq!(ending.guard::<()>("sends heartbeats", panics).await, None);
        assert_eq!(ending.ended().await, "the task that sends heartbeats panicked");
        assert!(ending.require_open().is_err());
    }
}
