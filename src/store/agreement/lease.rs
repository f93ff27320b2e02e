//! Leases. Answers of a primary are valid until the session's lease expires. A new session
//! acknowledges no change until all leases on an older primary have expired. Both are necessary
//! because a replaced primary continues to answer reads.

use std::ops::Add;
use std::time::Duration;

/// The duration of a lease, from the time at which its last confirmed heartbeat was sent. When a
/// session reaches a new primary, leases on the old primary can still be valid for this long.
pub const LEASE: Duration = Duration::from_secs(1);

/// A point in time of any clock.
pub trait Time: Copy + Ord + Add<Duration, Output = Self> {}

impl<T: Copy + Ord + Add<Duration, Output = T>> Time for T {}

/// The lease of a session. Heartbeats renew it, because a heartbeat is a commit, and a replaced
/// primary cannot confirm commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease<T> {
    /// The time at which the last confirmed heartbeat was sent; `None` before the first one is
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
    /// Renews the lease after a heartbeat sent at this time was confirmed.
    pub fn renew(&mut self, sent: T) -> Confirmed {
        self.renewed = Some(sent);
        Confirmed(())
    }

    /// True if answers that arrive now are valid.
    pub fn is_valid(&self, now: T) -> bool {
        self.renewed.is_some_and(|sent| now < sent + LEASE)
    }

    /// Returns the earlier of the query's start (`asked`) and the sending of the last confirmed
    /// heartbeat; `None` before the first heartbeat. The answer includes every change that was
    /// acknowledged before the returned time: the primary had not been replaced when the heartbeat
    /// was sent, so the answer lacks only changes acknowledged afterwards.
    pub fn as_of(&self, asked: T) -> Option<T> {
        self.renewed.map(|sent| sent.min(asked))
    }
}

/// The wait of a new session before it acknowledges cancellations and answers list requests. During
/// the wait another replica may still have a valid lease on a replaced primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OldLeaseWait<T> {
    pub(crate) until: T,
}

/// Proof that the wait is over; only [`OldLeaseWait::over`] creates it.
#[derive(Clone, Copy, Debug)]
pub struct WaitIsOver(());

impl<T: Time> OldLeaseWait<T> {
    /// Returns the wait of a session to `server` that was opened at `opened`. `before` is the
    /// server and the wait of the previous session. The wait begins with the *first* session to a
    /// server; further sessions to the same server do not prolong it.
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

    /// Returns proof that the wait is over. Before that, returns the end of the wait as an error.
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
        // Further sessions to the same server do not prolong the wait. The first one below opens
        // during the wait, the second one after it.
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
