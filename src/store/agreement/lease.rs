//! Leases, which keep the answers of a replaced primary out of lists.
//!
//! Once a caller has the 204 for a cancellation, no list requested afterwards may show the order.
//! Failovers make this hard. The new primary, P2, was a synchronous standby of the old primary, P1.
//! So P2 has every change that P1 confirmed. But P1 may still run. It does not know that it was
//! replaced, and continues to answer reads. Suppose that replica A, which has a session to P1, is
//! suspended. P2 is promoted, and replica B cancels order 7 there and responds with 204. Then A
//! resumes, receives a request for the list, and learns from P1 that nothing has changed.
//!
//! Two rules prevent this. A uses P1's answers only under its [`Lease`], which expires one second
//! after A sent its last confirmed heartbeat. B executes no cancellation on P2 until one second
//! after it opened a session to P2 ([`OldLeaseWait`]). A server opens sessions only to a primary
//! that is not in recovery (`connect_to`), so this second begins after the promotion.
//!
//! ```mermaid
//! sequenceDiagram
//!     A->>P1: heartbeat, sent at time s
//!     P1->>P2: the heartbeat's commit, which P2 writes to disk
//!     P1-->>A: confirmed, so A's lease expires at s + 1 s
//!     Note over A,P2: A is suspended, then P2 is promoted
//!     B->>P2: opens a session, waits 1 s, then cancels order 7
//!     Note over B: responds with 204, later than s + 1 s
//!     Note over A: resumes, and receives a request for the list
//!     A->>P1: freshness query
//!     P1-->>A: an answer without the cancellation
//!     Note over A: the lease has expired: 503
//! ```
//!
//! Heartbeats are commits, four a second. A primary confirms a commit only after its [synchronous
//! standby] has written it to disk. P2 wrote A's heartbeat to disk as a standby, so the promotion
//! was later than time s. B's wait begins after the promotion and lasts a second, so A's lease
//! expires before B's wait ends. The lease starts when the heartbeat is sent, because A may read
//! the confirmation long after the promotion.
//!
//! A and B measure their seconds with different clocks, which must advance at nearly the same rate.
//! A small difference does no harm: between s and B's wait, P2 is promoted and B connects, which
//! takes longer than the clocks can differ in a second.
//!
//! What is always true:
//!
//! - A list uses an answer only if the lease is valid when A processes the answer
//!   ([`accept_under_lease`](super::journal::Answer::accept_under_lease)). If A is suspended after
//!   this check, its response may show order 7. But the client requested that list before the lease
//!   expired, and so before the 204.
//! - `getOrder` first looks for the order in a list, under the same rule. If the order is not
//!   there, the server reads the order from the store. It shows the order as cancelled only once a
//!   heartbeat has confirmed the cancellation, because a failover could undo an unconfirmed one
//!   (`Session::cancelled_order`).
//! - No code can skip the wait, because the functions that send cancellations and freshness queries
//!   require a [`WaitIsOver`]. After a change, the operator's commands also wait, until no server
//!   can send a list without the change (`await_servers`).
//! - Lists wait too, because P2 may have a cancellation that P1 never confirmed. Without the wait,
//!   B could send a list without the order, and A could later send a list with the order.
//! - The first session of a process waits. A later session waits again if it leads to another
//!   primary than the session before, or if that primary has been a standby since
//!   (`ServerIdentity`). A session to the same primary only waits for the rest of an unfinished
//!   wait ([`OldLeaseWait::for_session`]).
//!
//! What happens when something fails:
//!
//! - Heartbeats are not confirmed: the lease outlives two missing confirmations, and then expires.
//!   A list request whose answer from P1 arrives later gets a 503, and the session ends. The
//!   session also ends if a heartbeat has no answer for two seconds. A then tries the hosts of its
//!   URL in order, until one is a primary and confirms a commit (`Opener`).
//! - An administrator cancels a commit's wait for the standby: PostgreSQL reports the commit as
//!   successful, with a warning. Servers treat such a commit as unconfirmed. If it is a heartbeat,
//!   it does not renew the lease, and the session ends (`Link::require_confirmed_since`).
//! - A machine is suspended: the lease's clock advances (`BootInstant`). The wait's clock may stop
//!   (`Instant`), which only prolongs the wait.
//! - A virtual machine is paused, and its clock stops: the server cannot notice the pause, so a
//!   list may be outdated. With `--confirm-lists`, lists stay correct, because each freshness query
//!   is a commit, which a replaced primary cannot confirm.
//! - P1 can confirm commits without P2, because `synchronous_standby_names` does not require every
//!   standby that may be promoted: P1 renews A's lease even after P2's promotion, so A's lists may
//!   be outdated. Servers log a warning about such settings.
//!
//! [synchronous standby]: https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION

use std::ops::Add;
use std::time::Duration;

/// The duration of a lease, from the time at which the last confirmed heartbeat was sent. A
/// server's first session waits this long before it cancels or lists orders, because older leases
/// may still be valid. So does a session to another primary.
pub const LEASE: Duration = Duration::from_secs(1);

pub trait Time: Copy + Ord + Add<Duration, Output = Self> {}

impl<T: Copy + Ord + Add<Duration, Output = T>> Time for T {}

/// The lease of a session. Each confirmed heartbeat renews it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease<T> {
    /// The time at which the last confirmed heartbeat was sent; `None` until a heartbeat is
    /// confirmed.
    pub(crate) renewed: Option<T>,
}

/// Proof that a commit was confirmed; only [`Lease::renew`] creates it.
#[derive(Clone, Copy, Debug)]
pub struct Confirmed(());

impl<T> Default for Lease<T> {
    fn default() -> Lease<T> {
        Lease { renewed: None }
    }
}

impl<T: Time> Lease<T> {
    /// Renews the lease after a heartbeat was confirmed. `sent` is the time at which that heartbeat
    /// was sent.
    pub fn renew(&mut self, sent: T) -> Confirmed {
        self.renewed = Some(sent);
        Confirmed(())
    }

    /// True if the lease is valid at `now`. A server uses an answer only if the lease is valid when
    /// the answer arrives.
    pub fn is_valid(&self, now: T) -> bool {
        self.renewed.is_some_and(|sent| now < sent + LEASE)
    }

    /// Returns a time for a query that started at `asked`. The query's answer includes every change
    /// that was acknowledged before the returned time.
    ///
    /// The returned time is at most the send time of the last confirmed heartbeat, because the
    /// primary may have been replaced after that heartbeat. Returns `None` before the first
    /// heartbeat is confirmed.
    pub fn as_of(&self, asked: T) -> Option<T> {
        self.renewed.map(|sent| sent.min(asked))
    }
}

/// The time until which a new session executes no cancellations and answers no list requests,
/// because leases of older sessions may still be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OldLeaseWait<T> {
    pub(crate) until: T,
}

/// Proof that a new session no longer waits for an old lease. Only [`OldLeaseWait::over`] creates
/// this proof.
#[derive(Clone, Copy, Debug)]
pub struct WaitIsOver(());

impl<T: Time> OldLeaseWait<T> {
    /// Returns the wait of a new session to `server`. `opened` is the time of the session's first
    /// connection. `before` is the previous session's server and wait.
    ///
    /// The wait ends no earlier than the previous wait. In a first session, or after a change of
    /// server, the wait also lasts at least until [`LEASE`] after `opened`.
    pub fn for_session<S: PartialEq>(
        opened: T,
        server: &S,
        before: Option<(&S, OldLeaseWait<T>)>,
    ) -> OldLeaseWait<T> {
        let Some((server_before, wait)) = before else {
            return OldLeaseWait { until: opened + LEASE };
        };
        let earliest = if server_before == server { opened } else { opened + LEASE };
        OldLeaseWait { until: earliest.max(wait.until) }
    }

    /// Returns a proof that the wait is over, or the time at which the wait ends as an error. Code
    /// that must not run during the wait requires the proof.
    pub fn over(&self, now: T) -> Result<WaitIsOver, T> {
        if now < self.until { Err(self.until) } else { Ok(WaitIsOver(())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_a_second_from_the_first_session_to_its_server() {
        let ms = Duration::from_millis;
        let (old, new, fork) = ("old", "new", "promoted to the same timeline");
        let first = OldLeaseWait::for_session(ms(0), &old, None);
        assert_eq!(first.until, ms(1_000));
        assert_eq!(first.over(ms(999)).unwrap_err(), ms(1_000));
        assert!(first.over(ms(1_000)).is_ok());
        let long_ago = Some((&old, OldLeaseWait { until: ms(0) }));
        assert_eq!(OldLeaseWait::for_session(ms(300), &old, long_ago).until, ms(300));
        let first = OldLeaseWait::for_session(ms(0), &new, long_ago);
        assert_eq!(first.until, ms(1_000));
        // Another session to the same server neither extends the wait nor begins a new one. A
        // session opened after the end of the wait does not wait, so its `until` is the time at
        // which it was opened. A session to another server begins a new wait.
        let before = Some((&new, first));
        assert_eq!(OldLeaseWait::for_session(ms(200), &new, before).until, ms(1_000));
        assert_eq!(OldLeaseWait::for_session(ms(2_000), &new, before).until, ms(2_000));
        assert_eq!(OldLeaseWait::for_session(ms(2_000), &fork, before).until, ms(3_000));
    }

    #[test]
    fn a_lease_ends_a_second_after_its_heartbeat_was_sent() {
        let ms = Duration::from_millis;
        let mut lease = Lease::default();
        assert!(!lease.is_valid(ms(0)) && lease.as_of(ms(0)).is_none());
        lease.renew(ms(500));
        assert!(lease.is_valid(ms(1_499)) && !lease.is_valid(ms(1_500)));
        assert_eq!([100, 900].map(|asked| lease.as_of(ms(asked))), [Some(ms(100)), Some(ms(500))]);
    }
}
