//! Leases: the time until which an answer counts, and from which a session may acknowledge. A
//! primary that was replaced goes on answering reads, and does not know it.

use std::ops::Add;
use std::time::Duration;

/// How long a lease is valid after its last confirmed heartbeat was sent, and so also how long an
/// older one may still be valid after another primary was reached.
pub const LEASE: Duration = Duration::from_secs(1);

/// An instant of some clock.
pub trait Time: Copy + Ord + Add<Duration, Output = Self> {}

impl<T: Copy + Ord + Add<Duration, Output = T>> Time for T {}

/// The lease of a session. A heartbeat is a commit, which a primary that was replaced cannot
/// confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease<T> {
    /// When the last confirmed heartbeat was sent; none before the first.
    pub(crate) renewed: Option<T>,
}

/// A commit was confirmed. Only [`Lease::renew`] gives it.
#[derive(Clone, Copy, Debug)]
pub struct Confirmed(());

impl<T> Default for Lease<T> {
    fn default() -> Lease<T> {
        Lease { renewed: None }
    }
}

impl<T: Time> Lease<T> {
    /// A heartbeat that was sent then was confirmed.
    pub fn renew(&mut self, sent: T) -> Confirmed {
        self.renewed = Some(sent);
        Confirmed(())
    }

    /// True if answers that arrive now count.
    pub fn is_valid(&self, now: T) -> bool {
        self.renewed.is_some_and(|sent| now < sent + LEASE)
    }

    /// The earlier of the question's start and the last confirmed heartbeat: an answer has everything
    /// that was acknowledged before, since a replaced primary lacks only later commits. None before
    /// the first heartbeat.
    pub fn as_of(&self, asked: T) -> Option<T> {
        self.renewed.map(|sent| sent.min(asked))
    }
}

/// The wait of a new session before it acknowledges cancellations and answers lists: another replica
/// may have a valid lease on a primary that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OldLeaseWait<T> {
    pub(crate) until: T,
}

/// The wait is over. Only [`OldLeaseWait::over`] gives it.
#[derive(Clone, Copy, Debug)]
pub struct WaitIsOver(());

impl<T: Time> OldLeaseWait<T> {
    /// The wait of a session to this server, opened at this time after the session before. It counts
    /// from the *first* session to this server, however often one is opened again.
    pub fn of_session<S: PartialEq>(
        opened: T,
        server: &S,
        before: Option<(&S, OldLeaseWait<T>)>,
    ) -> OldLeaseWait<T> {
        let Some((server_before, wait)) = before else {
            return OldLeaseWait { until: opened + LEASE };
        };
        let own = if server_before == server { opened } else { opened + LEASE };
        OldLeaseWait { until: own.max(wait.until) }
    }

    /// Returns the end of the wait unless it is over.
    pub fn over(&self, now: T) -> Result<WaitIsOver, T> {
        if now < self.until { Err(self.until) } else { Ok(WaitIsOver(())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_for_a_second_after_the_first_one_to_its_server() {
        let later = Duration::from_millis;
        let (old, new, fork) = ("old", "new", "promoted to the same timeline");
        let first = OldLeaseWait::of_session(later(0), &old, None);
        assert_eq!(first.until, later(1_000));
        assert_eq!(first.over(later(999)).unwrap_err(), later(1_000));
        assert!(first.over(later(1_000)).is_ok());
        let long_ago = Some((&old, OldLeaseWait { until: later(0) }));
        assert_eq!(OldLeaseWait::of_session(later(300), &old, long_ago).until, later(300));
        let first = OldLeaseWait::of_session(later(0), &new, long_ago);
        assert_eq!(first.until, later(1_000));
        // It is reset within its first second, and after it.
        let before = Some((&new, first));
        assert_eq!(OldLeaseWait::of_session(later(200), &new, before).until, later(1_000));
        assert_eq!(OldLeaseWait::of_session(later(2_000), &new, before).until, later(2_000));
        assert_eq!(OldLeaseWait::of_session(later(2_000), &fork, before).until, later(3_000));
    }

    #[test]
    fn a_lease_ends_a_second_after_its_heartbeat_was_sent() {
        let at = Duration::from_millis;
        let mut lease = Lease::default();
        assert!(!lease.is_valid(at(0)) && lease.as_of(at(0)).is_none());
        lease.renew(at(500));
        assert!(lease.is_valid(at(1_499)) && !lease.is_valid(at(1_500)));
        assert_eq!([100, 900].map(|asked| lease.as_of(at(asked))), [Some(at(100)), Some(at(500))]);
    }
}
