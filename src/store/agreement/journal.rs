//! Detects a primary with a different history. The journal records a number and a unique id for
//! each change. If a journal lacks the last change that this process has seen, the primary has a
//! different history.
//!
//! A primary's answer is accepted if the lease is valid and the history is the same as before.

use super::key_cache::ChangesAsOf;
use super::lease::{Confirmed, Lease, Time};
use super::position::LastChanges;

/// A row of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change<I> {
    /// The change number.
    pub number: i64,
    /// Distinguishes changes with the same number in different histories.
    pub id: I,
}

/// The last change that this process has seen, and the history that it followed then. It is kept
/// when a session ends.
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
    /// Records `change` as the last seen change. Fails if the primary's journal lacks the
    /// previously seen change (`is_known` is false). Call this before you use the rows that came
    /// with the change, because no row in use may be later than the last seen change.
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

    /// The last seen change; the next query looks it up in the journal.
    pub fn last(&self) -> Option<&Change<I>> {
        self.last.as_ref().map(|(_, change)| change)
    }
}

/// A session that is being opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<I> {
    /// The history that the session follows.
    pub history: u64,
    last: Change<I>,
}

impl<I> Opening<I> {
    /// Records the journal's last change as seen. Requires a confirmed commit, because a replaced
    /// primary may report changes that no other server has.
    pub fn record(self, _: Confirmed, seen: &mut Seen<I>) {
        seen.advance(self.history, self.last);
    }
}

/// The reason why an answer is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRejected {
    /// The primary may have been replaced.
    LeaseExpired,
    /// The journal lacks the last seen change: the session must end.
    OtherHistory,
}

/// A primary's answer to a query of its journal: the journal's last change, and whether the journal
/// contains the change that this process saw last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer<I> {
    last: Change<I>,
    orders: i64,
    keys: i64,
    is_known: bool,
}

impl<I> Answer<I> {
    /// Creates an answer. `last` is the journal's last row. `orders` and `keys` are the numbers of
    /// the last changes of orders and of keys. `is_known` is true if the journal has the change
    /// that the query looked up.
    pub fn new(last: Change<I>, orders: i64, keys: i64, is_known: bool) -> Answer<I> {
        Answer { last, orders, keys, is_known }
    }

    /// Returns the last changes for a list request. Fails if the lease is no longer valid when the
    /// answer arrives, because the answer may then lack changes that were acknowledged before the
    /// query.
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

    /// Returns the last changes for the key cache. They include every change that was acknowledged
    /// before their `as_of`.
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

    /// Returns the last changes without checking the lease, and records them as seen.
    pub fn accept(self, history: u64, seen: &mut Seen<I>) -> Result<LastChanges, AnswerRejected> {
        seen.accept(history, self.last, self.is_known)?;
        Ok(LastChanges::new(history, self.orders, self.keys))
    }

    /// Begins a session to the primary that gave this answer. If the primary's journal lacks the
    /// last seen change, the session follows a new history.
    pub fn opening(self, seen: &Seen<I>) -> Opening<I> {
        let previous = seen.last.as_ref().map(|(history, _)| *history);
        let history = previous.map_or(0, |history| history + u64::from(!self.is_known));
        Opening { history, last: self.last }
    }
}
