//! The journal, by which a replica detects that a primary lacks changes that the replica has seen.
//!
//! A replica catches up by change number. If its list is at change 8, it reads the orders that
//! changed after 8. Catching up fails if a failover or a restored backup loses changes, because the
//! lost numbers are used again.
//!
//! For example, the primary P1 commits change 8, the cancellation of order 5. P1 waits for its
//! standby P2 to confirm the commit, but an administrator or a shutdown cancels this wait. A
//! replica can then read change 8, although P2 does not have it. Now P2 is promoted, and its own
//! change 8 is the cancellation of order 6. The replica's list is already at change 8, so the
//! replica asks P2 only for later changes and gets none. From then on, the list shows order 6,
//! although a caller has the 204 for its cancellation. The list does not show order 5, although
//! order 5 is pending again.
//!
//! PostgreSQL's timeline does not reveal lost changes reliably. The timeline also rises at
//! promotions that lose nothing. Two standbys can be promoted to the same timeline. A restore into
//! a running PostgreSQL does not change the timeline.
//!
//! So each change adds a row with its number and a random id to the journal, the table `changes`,
//! in the transaction that makes the change. A process remembers the last change that it has seen
//! ([`Seen`]). Each time it asks the journal for the last change, it also asks if the journal
//! contains the remembered change, with the same number and id. If so, the store has all earlier
//! changes too, because numbers are committed in ascending order and a failover loses only the end
//! of the log. So the process can catch up from the remembered change. Otherwise, the process
//! cannot tell which of its changes were lost. It ends the session. The next session begins a new
//! history: the process discards its pending removals and cached keys, and reads all orders again.
//!
//! What is always true:
//!
//! - Numbers are committed in ascending order, because each change holds the change lock while it
//!   takes the next number and commits (`LOCK_CHANGES` in `store/postgres/journal.rs`).
//! - No row in memory is later than the last seen change, because [`Seen::accept`] records the
//!   change before the rows of the same answer are used.
//! - A session follows one history. If the journal lacks the last seen change, the session ends
//!   ([`AnswerRejected::OtherHistory`]). Only the opening of a session begins a new history
//!   ([`Answer::opening`]).
//! - A primary to which a process has just connected may have been replaced already. So the process
//!   remembers its changes only once this primary has confirmed a commit ([`Opening::record`]).
//!   Otherwise the next primary could lack the remembered change, and the process would read all
//!   orders again without need.
//! - Numbers of different histories are never compared ([`Position`](super::position::Position)).
//!
//! What happens when something fails:
//!
//! - `pg_restore --clean` restores the random ids as well, but in a new table. Servers compare the
//!   random id together with the table's oid (`CHANGE_ID`), so running servers notice the restore.
//! - A replica that was away for more than 10 minutes may find its last seen change removed from
//!   the journal (`remove_old`). It then reads everything again, which is slow but correct.
//! - A process that restarts remembers nothing and reads everything.
//!
//! With SQLite the history is always 0, because there is no failover, and no server may run during
//! a restore.
//!
//! An earlier version numbered imported orders above the last change, and hid them until the whole
//! import was stored. If a hidden order was cancelled, lists showed it later and never removed it,
//! in 40 of 40 attempts. Now each step of an import is an ordinary change.

use super::key_cache::ChangesAsOf;
use super::lease::{Confirmed, Lease, Time};
use super::position::LastChanges;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change<I> {
    pub number: i64,
    /// Distinguishes changes with the same number in different histories.
    pub id: I,
}

/// The last change that this process has seen, with the change's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seen<I> {
    last: Option<(u64, Change<I>)>,
}

impl<I> Default for Seen<I> {
    fn default() -> Seen<I> {
        Seen { last: None }
    }
}

impl<I> Seen<I> {
    /// Records `change` as the last seen change, unless a later one is already recorded. Fails if
    /// the primary's journal lacks the previously seen change (`is_known` is false).
    ///
    /// Call this method before you use the rows that came with the change.
    pub fn accept(
        &mut self,
        history: u64,
        change: Change<I>,
        is_known: bool,
    ) -> Result<(), AnswerRejected> {
        if !is_known {
            return Err(AnswerRejected::OtherHistory);
        }
        self.advance(history, change);
        Ok(())
    }

    fn advance(&mut self, history: u64, change: Change<I>) {
        let position = (history, change.number);
        if self.last.as_ref().is_none_or(|(history, last)| (*history, last.number) < position) {
            self.last = Some((history, change));
        }
    }

    /// Returns the last seen change. The next query looks it up in the journal.
    pub fn last(&self) -> Option<&Change<I>> {
        self.last.as_ref().map(|(_, change)| change)
    }
}

/// The history of a session that is being opened, and the last change of the session's primary.
#[derive(Clone, Copy, Debug)]
pub struct Opening<I> {
    pub history: u64,
    last: Change<I>,
}

impl<I> Opening<I> {
    pub fn record(self, _: Confirmed, seen: &mut Seen<I>) {
        seen.advance(self.history, self.last);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRejected {
    /// The primary may have been replaced, so its answer may lack changes.
    LeaseExpired,
    /// The journal lacks the last change that this process saw, so the session must end.
    OtherHistory,
}

/// A primary's answer to a query of its journal. It has the last change, and the numbers of the
/// last changes of orders and of keys. It also tells whether the journal contains the change that
/// this process saw last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer<I> {
    last: Change<I>,
    orders: i64,
    keys: i64,
    is_known: bool,
}

impl<I> Answer<I> {
    /// `orders` is the number of the last change of orders. `keys` is the number of the last change
    /// of accounts or keys. `is_known` is true if the journal has the change that this process saw
    /// last.
    pub fn new(last: Change<I>, orders: i64, keys: i64, is_known: bool) -> Answer<I> {
        Answer { last, orders, keys, is_known }
    }

    /// Returns the last changes for a list request, and records them as seen. `now` is the time at
    /// which the answer arrives.
    ///
    /// Fails if the lease has expired by then, because the answer may lack acknowledged changes.
    /// Also fails if the journal lacks the last seen change.
    pub fn accept_under_lease<T: Time>(
        self,
        history: u64,
        lease: &Lease<T>,
        now: T,
        seen: &mut Seen<I>,
    ) -> Result<LastChanges, AnswerRejected> {
        if !lease.is_valid(now) {
            return Err(AnswerRejected::LeaseExpired);
        }
        self.accept(history, seen)
    }

    /// Returns the last changes for the key cache, with the time that [`Lease::as_of`] returns. The
    /// last changes are complete up to that time. Fails before the first confirmed heartbeat, or if
    /// the journal lacks the last seen change.
    pub fn with_as_of<T: Time>(
        self,
        history: u64,
        lease: &Lease<T>,
        asked: T,
        seen: &mut Seen<I>,
    ) -> Result<ChangesAsOf<T>, AnswerRejected> {
        let as_of = lease.as_of(asked).ok_or(AnswerRejected::LeaseExpired)?;
        Ok(ChangesAsOf::new(self.accept(history, seen)?, as_of))
    }

    /// Returns the last changes without checking the lease, and records them as seen. Fails if the
    /// journal lacks the last seen change.
    pub fn accept(self, history: u64, seen: &mut Seen<I>) -> Result<LastChanges, AnswerRejected> {
        seen.accept(history, self.last, self.is_known)?;
        Ok(LastChanges::new(history, self.orders, self.keys))
    }

    /// Returns the history and the last change with which a new session begins. The session begins
    /// a new history if the primary's journal lacks the last seen change.
    pub fn opening(self, seen: &Seen<I>) -> Opening<I> {
        let previous = seen.last.as_ref().map(|(history, _)| *history);
        let history = previous.map_or(0, |history| history + u64::from(!self.is_known));
        Opening { history, last: self.last }
    }
}
