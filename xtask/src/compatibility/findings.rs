//! Walks the places in which two documents differ, and collects the changes with their
//! verdicts. A key that no rule names falls to one rule for all of them.

use super::change::{Change, Verdict};
use chrono::NaiveDate;
use codegen::pointer::{COMPONENT, component, pointer_to};
use serde_json::{Value, json};

/// Which way a value goes, seen from the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The caller sends it: parameters and request bodies.
    Sent,
    /// The caller receives it: response bodies and headers.
    Received,
}

impl Direction {
    /// The verdict on fewer possible values: a sender must not be allowed less.
    pub const fn fewer(self) -> Verdict {
        match self {
            Direction::Sent => Verdict::Breaking,
            Direction::Received => Verdict::Addition,
        }
    }

    /// The verdict on more possible values: a receiver must not get more.
    pub const fn more(self) -> Verdict {
        match self {
            Direction::Sent => Verdict::Addition,
            Direction::Received => Verdict::Breaking,
        }
    }
}

/// A place in both documents: what the changelog calls it, and what each document has there.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    pub key: &'a str,
    pub old: Option<&'a Value>,
    pub new: Option<&'a Value>,
    /// JSON pointer.
    pub pointer: String,
    /// Such as `Order.id`, `listOrders 401`, `listOrders 200 Link`, `getPet petId`.
    pub name: String,
    /// Whether the name is that of a schema or a field: fields follow after a dot.
    is_schema: bool,
}

impl<'a> Place<'a> {
    /// Two documents as a whole.
    pub fn documents(old: &'a Value, new: &'a Value) -> Place<'a> {
        let (pointer, name) = (String::new(), "the API".to_string());
        Place { key: "", old: Some(old), new: Some(new), pointer, name, is_schema: false }
    }

    /// What each document has there, if both have something.
    pub fn both(&self) -> Option<(&'a Value, &'a Value)> {
        self.old.zip(self.new)
    }

    /// This place with other values.
    pub fn with<'b>(&self, old: Option<&'b Value>, new: Option<&'b Value>) -> Place<'b>
    where
        'a: 'b,
    {
        Place { old, new, ..self.clone() }
    }

    /// A member of the object here, still under this name; those of a document are known by
    /// themselves.
    fn member<'b>(&self, key: &'b str) -> Place<'b>
    where
        'a: 'b,
    {
        let get = |object: Option<&'a Value>| object?.get(key);
        let name = if self.pointer.is_empty() { key } else { &self.name };
        Place {
            key,
            old: get(self.old),
            new: get(self.new),
            pointer: pointer_to(&self.pointer, key),
            name: name.to_string(),
            is_schema: self.is_schema,
        }
    }

    /// This place, known by this name alone.
    pub fn named(&self, name: &str) -> Place<'a> {
        Place { name: name.to_string(), is_schema: false, ..self.clone() }
    }

    /// This place, known as a part of what it is in.
    pub fn part(&self, part: &str) -> Place<'a> {
        self.named(&format!("{} {part}", self.name))
    }

    /// This place as a field of what it is in.
    pub fn field(&self, field: &str) -> Place<'a> {
        let dot = if self.is_schema { "." } else { " " };
        Place { name: format!("{}{dot}{field}", self.name), is_schema: true, ..self.clone() }
    }

    /// This place, where a schema or what is named like one is.
    pub fn schema(&self, name: &str) -> Place<'a> {
        Place { name: name.to_string(), is_schema: true, ..self.clone() }
    }

    /// The name of the component that both documents have here.
    pub fn component(&self) -> Option<&'a str> {
        let name = component(self.new.or(self.old)?)?;
        self.old.is_none_or(|old| component(old) == Some(name)).then_some(name)
    }

    /// "`key` changed from 1 to 2", where a missing value reads "absent".
    pub fn transition(&self) -> String {
        format!("`{}` changed from {} to {}", self.key, shorten(self.old), shorten(self.new))
    }
}

/// The changes found so far.
#[derive(Debug)]
pub(super) struct Findings {
    pub today: NaiveDate,
    pub changes: Vec<Change>,
}

impl Findings {
    /// Applies `rule` to each member in which two objects differ, in the order of the old one.
    /// An absent object counts as empty.
    pub fn each(&mut self, of: &Place<'_>, mut rule: impl FnMut(&mut Findings, &Place<'_>)) {
        let empty = json!({});
        let objects = (of.old.unwrap_or(&empty).as_object(), of.new.unwrap_or(&empty).as_object());
        let (Some(old), Some(new)) = objects else {
            return self.breaking(of, "is not an object before and after");
        };
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for member in old.keys().chain(added).map(|key| of.member(key)) {
            // Where something is read from is how a document is organised.
            if member.old != member.new && member.key != COMPONENT {
                rule(self, &member);
            }
        }
    }

    /// What no rule names: no caller can rely on a new extension, on anything else one might.
    pub fn other(&mut self, at: &Place<'_>) {
        if at.key.starts_with("x-") && at.old.is_none() {
            self.neutral(at, "is a new extension");
        } else {
            self.breaking(at, format!("{}, for which there is no rule", at.transition()));
        }
    }

    /// Text for people.
    pub fn text(&mut self, at: &Place<'_>) {
        self.neutral(at, "is reworded");
    }

    /// A flag that is false where it is absent: what is said, and how it counts, if it is set,
    /// and if it is not set any more.
    pub fn flag(&mut self, at: &Place<'_>, set: (&str, Verdict), unset: (&str, Verdict)) {
        let flag = |value: Option<&Value>| value.map_or(Some(false), Value::as_bool);
        match (flag(at.old), flag(at.new)) {
            (Some(false), Some(true)) => self.add(at, set.1, set.0),
            (Some(true), Some(false)) => self.add(at, unset.1, unset.0),
            (Some(_), Some(_)) => {}
            _ => self.other(at),
        }
    }

    /// Callers have to hear of both.
    pub fn deprecation(&mut self, at: &Place<'_>) {
        let (set, unset) = ("is deprecated", "is no longer deprecated");
        self.flag(at, (set, Verdict::Addition), (unset, Verdict::Addition));
    }

    /// Turns what was found since there were this many changes into what it counts where nothing
    /// was promised: callers have to hear of it.
    pub fn announce_since(&mut self, count: usize) {
        for change in self.changes.iter_mut().skip(count) {
            change.verdict = change.verdict.min(Verdict::Addition);
        }
    }

    pub fn neutral(&mut self, at: &Place<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Neutral, description);
    }

    pub fn addition(&mut self, at: &Place<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Addition, description);
    }

    pub fn breaking(&mut self, at: &Place<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Breaking, description);
    }

    pub fn add(&mut self, at: &Place<'_>, verdict: Verdict, description: impl Into<String>) {
        let (pointer, name) = (at.pointer.clone(), at.name.clone());
        self.changes.push(Change { pointer, name, verdict, description: description.into() });
    }
}

/// A value in one line of text.
pub(super) fn shorten(value: Option<&Value>) -> String {
    const MAX_CHARS: usize = 40;
    let text = value.map_or("absent".to_string(), Value::to_string);
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    text.chars().take(MAX_CHARS).chain(['…']).collect()
}
