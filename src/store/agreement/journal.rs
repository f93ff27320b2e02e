//! Detects a primary with a different history. Every commit has a number and an id of its own in
//! the journal; a journal that lacks the last commit that this process has seen is another history.
//!
//! An answer of a primary counts if two questions have a yes: is its lease valid, and is its history
//! the one that was seen?

use super::change_numbers::LastChanges;
use super::keys::PolledChanges;
use super::lease::{Confirmed, Lease, Time};

/// A row of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change<I> {
    /// Its number.
    pub number: i64,
    /// Tells it from a change of the same number in another history.
    pub id: I,
}

/// The last change that this process has seen, and its generation. It survives sessions.
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
    /// Accepts a change of a primary whose journal has the last change that was seen. Call it before
    /// using the rows that came with the change: nothing that is used may be later than what was
    /// seen.
    pub fn accept(
        &mut self,
        generation: u64,
        change: Change<I>,
        is_known: bool,
    ) -> Result<(), AnswerRejected> {
        if !is_known {
            return Err(AnswerRejected::OtherHistory);
        }
        self.advance(generation, change);
        Ok(())
    }

    fn advance(&mut self, generation: u64, change: Change<I>) {
        let position = (generation, change.number);
        if self.last.as_ref().is_none_or(|(of, last)| (*of, last.number) < position) {
            self.last = Some((generation, change));
        }
    }

    /// The change that the next question looks for in the journal.
    pub fn last(&self) -> Option<&Change<I>> {
        self.last.as_ref().map(|(_, change)| change)
    }
}

/// A session that is being opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<I> {
    /// The generation that it is at.
    pub generation: u64,
    last: Change<I>,
}

impl<I> Opening<I> {
    /// Records the last change once the server has confirmed a commit: a replaced primary may report
    /// changes that no other server has.
    pub fn record(self, _: Confirmed, seen: &mut Seen<I>) {
        seen.advance(self.generation, self.last);
    }
}

/// The reason why an answer does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRejected {
    /// The primary may have been replaced.
    LeaseExpired,
    /// The journal lacks what was seen before: the session has to end.
    OtherHistory,
}

/// The answer of a primary: its last change, and whether its journal has the last one that was
/// seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer<I> {
    last: Change<I>,
    orders: i64,
    keys: i64,
    is_known: bool,
}

impl<I> Answer<I> {
    /// The journal's last row, and whether the journal has the row that the question named.
    pub fn new(last: Change<I>, orders: i64, keys: i64, is_known: bool) -> Answer<I> {
        Answer { last, orders, keys, is_known }
    }

    /// Returns the last changes, for a list: with a valid lease the answer, received now, has every
    /// change that was acknowledged before the question.
    pub fn accept_under_lease<T: Time>(
        self,
        generation: u64,
        lease: &Lease<T>,
        now: T,
        seen: &mut Seen<I>,
    ) -> Result<LastChanges, AnswerRejected> {
        if !lease.is_valid(now) {
            return Err(AnswerRejected::LeaseExpired);
        }
        self.accept(generation, seen)
    }

    /// Returns the last changes and the time as of which they have everything acknowledged, for keys.
    pub fn with_as_of<T: Time>(
        self,
        generation: u64,
        lease: &Lease<T>,
        asked: T,
        seen: &mut Seen<I>,
    ) -> Result<PolledChanges<T>, AnswerRejected> {
        let as_of = lease.as_of(asked).ok_or(AnswerRejected::LeaseExpired)?;
        Ok(PolledChanges::new(self.accept(generation, seen)?, as_of))
    }

    /// Returns the last changes of any primary with this history, and records that they were seen.
    pub fn accept(
        self,
        generation: u64,
        seen: &mut Seen<I>,
    ) -> Result<LastChanges, AnswerRejected> {
        seen.accept(generation, self.last, self.is_known)?;
        Ok(LastChanges { generation, orders: self.orders, keys: self.keys })
    }

    /// Begins a session to this server, in a new generation if its journal lacks the last change.
    pub fn opening(self, seen: &Seen<I>) -> Opening<I> {
        let of_seen = seen.last.as_ref().map(|(generation, _)| *generation);
        let generation = of_seen.map_or(0, |generation| generation + u64::from(!self.is_known));
        Opening { generation, last: self.last }
    }
}
