//! Collects verdicts, and knows the two questions that most rules come down to:
//! who reads the value, and did the set of possible values grow or shrink.

use super::at::At;
use super::{Change, Verdict};

/// Which way a value goes, seen from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The caller sends it: parameters and request bodies.
    Sent,
    /// The caller receives it: response bodies and headers.
    Received,
}

/// What became of the set of values that a schema allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// Everything that was allowed still is, and more.
    Wider,
    /// Only what was allowed still is, and less.
    Narrower,
    /// Neither, or nobody can tell.
    Other,
}

impl Shift {
    /// Callers who send must not be allowed less; callers who receive must not
    /// be surprised by more.
    const fn verdict(self, direction: Direction) -> Verdict {
        match (self, direction) {
            (Shift::Wider, Direction::Sent) | (Shift::Narrower, Direction::Received) => {
                Verdict::Addition
            }
            _ => Verdict::Breaking,
        }
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Judge {
    found: Vec<Change>,
}

impl Judge {
    pub fn into_changes(self) -> Vec<Change> {
        self.found
    }

    pub fn worst(&self) -> Option<Verdict> {
        self.found.iter().map(|change| change.verdict).max()
    }

    pub fn neutral(&mut self, at: &At, says: impl Into<String>) {
        self.add(at, Verdict::Neutral, says.into());
    }

    pub fn addition(&mut self, at: &At, says: impl Into<String>) {
        self.add(at, Verdict::Addition, says.into());
    }

    pub fn breaking(&mut self, at: &At, says: impl Into<String>) {
        self.add(at, Verdict::Breaking, says.into());
    }

    pub fn shift(&mut self, at: &At, direction: Direction, shift: Shift, says: impl Into<String>) {
        self.add(at, shift.verdict(direction), says.into());
    }

    /// Takes over what another judge found, each change as `with` leaves it.
    pub fn take(&mut self, other: Judge, with: impl Fn(Change) -> Change) {
        self.found.extend(other.found.into_iter().map(with));
    }

    fn add(&mut self, at: &At, verdict: Verdict, says: String) {
        self.found.push(Change { place: at.place.clone(), name: at.name.clone(), verdict, says });
    }
}
