//! Collects changes with their verdicts. Most rules come down to two questions:
//! who reads the value, and did the set of possible values grow or shrink.

use super::change::{Change, Verdict};
use super::location::Location;
use chrono::NaiveDate;
use serde_json::Value;
use std::rc::Rc;

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

/// The documents that are compared, with their references resolved, and the day.
#[derive(Debug)]
pub(super) struct Compared {
    pub old: Value,
    pub new: Value,
    pub today: NaiveDate,
}

/// Two schemas that are being compared.
type Pair = (Value, Value, Direction);

/// How two schemas are compared. Their parts are schemas too, and their files
/// must not import the one that imports them.
pub(super) type SchemaRule = fn(&mut Findings, &Location, Direction, &Value, &Value);

/// The changes found so far.
#[derive(Debug)]
pub(super) struct Findings {
    pub compared: Rc<Compared>,
    schemas: SchemaRule,
    /// A schema inside itself is compared once.
    comparing: Vec<Pair>,
    changes: Vec<Change>,
}

impl Findings {
    pub fn new(compared: Compared, schemas: SchemaRule) -> Findings {
        let compared = Rc::new(compared);
        Findings { compared, schemas, comparing: Vec::new(), changes: Vec::new() }
    }

    /// Findings about the same documents, to be judged before they are added.
    pub fn apart(&self) -> Findings {
        Findings {
            compared: self.compared.clone(),
            schemas: self.schemas,
            comparing: self.comparing.clone(),
            changes: Vec::new(),
        }
    }

    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// Compares two schemas.
    pub fn schemas(&mut self, at: &Location, direction: Direction, old: &Value, new: &Value) {
        (self.schemas)(self, at, direction, old, new);
    }

    /// Compares two schemas with `rule`, unless that is what is going on: then
    /// whatever differs is found outside.
    pub fn once(&mut self, pair: Pair, rule: impl FnOnce(&mut Findings)) {
        if !self.comparing.contains(&pair) {
            self.comparing.push(pair);
            rule(self);
            self.comparing.pop();
        }
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
