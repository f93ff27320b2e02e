//! Collects changes with their verdicts. Most rules come down to two questions:
//! who reads the value, and did the set of possible values grow or shrink.

use super::change::{Change, Verdict};
use super::location::Location;

/// Which way a value goes, seen from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The caller sends it: parameters and request bodies.
    Sent,
    /// The caller receives it: response bodies and headers.
    Received,
}

/// How the set of values that a schema allows has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// A superset.
    Wider,
    /// A subset.
    Narrower,
    /// Neither, or not decidable.
    Other,
}

impl Shift {
    /// A sender must not be allowed less; a receiver must not get more.
    const fn verdict(self, direction: Direction) -> Verdict {
        match (self, direction) {
            (Shift::Wider, Direction::Sent) | (Shift::Narrower, Direction::Received) => {
                Verdict::Addition
            }
            _ => Verdict::Breaking,
        }
    }
}

/// The changes found so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    changes: Vec<Change>,
}

impl Findings {
    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    pub fn worst(&self) -> Option<Verdict> {
        self.changes.iter().map(|change| change.verdict).max()
    }

    pub fn neutral(&mut self, at: &Location, description: impl Into<String>) {
        self.add(at, Verdict::Neutral, description.into());
    }

    pub fn addition(&mut self, at: &Location, description: impl Into<String>) {
        self.add(at, Verdict::Addition, description.into());
    }

    pub fn breaking(&mut self, at: &Location, description: impl Into<String>) {
        self.add(at, Verdict::Breaking, description.into());
    }

    pub fn shift(
        &mut self,
        at: &Location,
        direction: Direction,
        shift: Shift,
        description: impl Into<String>,
    ) {
        self.add(at, shift.verdict(direction), description.into());
    }

    /// Adds the changes of `other`, each as `map` returns it.
    pub fn extend(&mut self, other: Findings, map: impl Fn(Change) -> Change) {
        self.changes.extend(other.changes.into_iter().map(map));
    }

    fn add(&mut self, at: &Location, verdict: Verdict, description: String) {
        let (pointer, name) = (at.pointer.clone(), at.name.clone());
        self.changes.push(Change { pointer, name, verdict, description });
    }
}
