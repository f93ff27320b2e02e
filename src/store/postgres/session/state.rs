//! The state that a session's connections share. It decides which of PostgreSQL's answers are
//! valid.

use super::replica::Replica;
use crate::clock::BootInstant;
use crate::log::ErrorChain;
use crate::store::StoreError;
use crate::store::agreement::journal::AnswerRejected;
use crate::store::agreement::lease::{Confirmed, Lease, OldLeaseWait};
use crate::store::postgres::error::{postgres_error, unreachable_because};
use crate::store::postgres::journal::JournalSeen;
use futures::FutureExt;
use parking_lot::Mutex;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

pub struct SessionState {
    pub history: u64,
    /// Until this wait is over, another server may have a valid lease on a replaced primary. So
    /// this server executes no cancellations and answers no list requests.
    pub wait: OldLeaseWait<Instant>,
    pub replica: Arc<Replica>,
    /// The lease. Its clock also advances while the machine is suspended.
    lease: Mutex<Lease<BootInstant>>,
    /// The number of the last change that a confirmed commit has made or read.
    confirmed: watch::Sender<i64>,
    /// The reason why the session has ended, or `None` while it is open.
    ended: watch::Sender<Option<String>>,
}

impl SessionState {
    pub fn new(history: u64, wait: OldLeaseWait<Instant>, replica: Arc<Replica>) -> SessionState {
        let (confirmed, ended) = (watch::Sender::default(), watch::Sender::default());
        SessionState { history, wait, replica, lease: Mutex::default(), confirmed, ended }
    }

    /// Renews the lease, because a heartbeat was confirmed. `sent` is the time at which the
    /// heartbeat was sent.
    pub fn renew_lease(&self, sent: BootInstant) -> Confirmed {
        self.lease.lock().renew(sent)
    }

    /// Fails unless the session is open and its lease is valid. Without a lease, a result that
    /// arrives now may come from a replaced primary.
    pub fn require_lease(&self) -> Result<(), StoreError> {
        self.require_open()?;
        let lease = *self.lease.lock();
        match lease.is_valid(BootInstant::now()) {
            true => Ok(()),
            false => self.require_accepted(Err(AnswerRejected::LeaseExpired)),
        }
    }

    /// Records that the standby has the change with this number. Call this function only after a
    /// confirmed commit that made or saw the change.
    ///
    /// The mere end of a COMMIT is no proof, because the COMMIT may have stopped waiting for the
    /// standby.
    pub fn set_confirmed(&self, number: i64) {
        self.confirmed.send_if_modified(|last| {
            let is_later = number > *last;
            *last = number.max(*last);
            is_later
        });
    }

    pub fn is_confirmed(&self, number: i64) -> bool {
        number <= *self.confirmed.borrow()
    }

    /// Waits until the standby is known to have the change with this number. Fails if the session
    /// ends first.
    pub async fn require_confirmed(&self, number: i64) -> Result<(), StoreError> {
        let mut confirmed = self.confirmed.subscribe();
        tokio::select! {
            _ = confirmed.wait_for(|last| *last >= number) => Ok(()),
            why = self.ended() => Err(unreachable_because(why)),
        }
    }

    /// Checks an answer of the primary with `decide`. Fails if `decide` rejects the answer, or if
    /// the session has ended, so that rows of an ended session are never used. Ends the session if
    /// `decide` finds that the journal lacks a change that this server has seen.
    pub fn accept<T>(
        &self,
        decide: impl FnOnce(u64, &Lease<BootInstant>, &mut JournalSeen) -> Result<T, AnswerRejected>,
    ) -> Result<T, StoreError> {
        let lease = *self.lease.lock();
        self.require_accepted(self.replica.with_seen(|seen| decide(self.history, &lease, seen)))
    }

    fn require_accepted<T>(&self, answer: Result<T, AnswerRejected>) -> Result<T, StoreError> {
        match answer {
            Ok(accepted) => self.require_open().map(|()| accepted),
            Err(AnswerRejected::LeaseExpired) => {
                Err(unreachable_because("its primary confirmed no commit within a second"))
            }
            Err(AnswerRejected::OtherHistory) => {
                let why = "its journal lacks a change that this server has seen";
                self.end(&why);
                Err(unreachable_because(why))
            }
        }
    }

    /// Awaits `work`, which waits for a reply from PostgreSQL. Fails if the reply takes longer than
    /// `limit`, or if the session has ended by the time the reply arrives. A late reply or a lost
    /// connection ends the session.
    pub async fn answer<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answer = with_time_limit(limit, work).await;
        match &answer {
            Ok(_) => self.require_open()?,
            // An error without a SQLSTATE means that the store is unreachable. `error.rs` also
            // drops the SQLSTATE if PostgreSQL is read-only.
            Err(error) if postgres_error(error).is_some_and(|error| error.state.is_none()) => {
                self.end(&ErrorChain(error));
            }
            Err(_) => {}
        }
        answer
    }

    /// Ends the session. If it has already ended, keeps the first reason.
    pub fn end(&self, why: &dyn std::fmt::Display) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert_with(|| why.to_string());
            is_first
        });
    }

    pub fn require_open(&self) -> Result<(), StoreError> {
        match &*self.ended.borrow() {
            None => Ok(()),
            Some(why) => Err(unreachable_because(&**why)),
        }
    }

    pub async fn ended(&self) -> String {
        let mut why = self.ended.subscribe();
        // `wait_for` cannot fail, because `self` owns the sender.
        let ended = why.wait_for(Option::is_some).await;
        ended.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Runs a task of the session. A panic ends the session, so that the next session starts the
    /// task again.
    pub async fn guard<T>(&self, task: &str, work: impl Future<Output = T>) -> Option<T> {
        let result = AssertUnwindSafe(work).catch_unwind().await;
        result.map_err(|_| self.end(&format_args!("the task that {task} panicked"))).ok()
    }
}

/// Awaits the result of `work`. After `limit`, returns an error without an SQLSTATE, because
/// PostgreSQL reported no error.
pub async fn with_time_limit<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(limit, work).await {
        Ok(answer) => answer,
        Err(_) => Err(unreachable_because(format!("no answer within {} ms", limit.as_millis()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_ends_the_session() {
        let wait = OldLeaseWait::for_session(Instant::now(), &(), None);
        let state = SessionState::new(0, wait, Arc::default());
        assert_eq!(state.guard("succeeds", async { 7 }).await, Some(7));
        assert!(state.require_open().is_ok());
        let panics = async { panic!("a test says so") };
        assert_eq!(state.guard::<()>("sends heartbeats", panics).await, None);
        assert_eq!(state.ended().await, "the task that sends heartbeats panicked");
        assert!(state.require_open().is_err());
    }
}
