//! Walks the differences between two documents and collects the changes with their verdicts.

use super::change::{Change, Verdict};
use chrono::NaiveDate;
use codegen::pointer::{COMPONENT, component, pointer_to};
use serde_json::{Value, json};

/// The direction in which a value is sent, as the caller sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Parameters and request bodies.
    Sent,
    /// Response bodies and headers.
    Received,
}

impl Direction {
    /// Returns the verdict on a change that allows fewer values. Such a change is breaking only for
    /// values that callers send.
    pub const fn fewer(self) -> Verdict {
        match self {
            Direction::Sent => Verdict::Breaking,
            Direction::Received => Verdict::Addition,
        }
    }

    /// Returns the verdict on a change that allows more values. Such a change is breaking only for
    /// values that callers receive.
    pub const fn more(self) -> Verdict {
        match self {
            Direction::Sent => Verdict::Addition,
            Direction::Received => Verdict::Breaking,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ComparedPlace<'a> {
    pub key: &'a str,
    pub old: Option<&'a Value>,
    pub new: Option<&'a Value>,
    pub pointer: String,
    /// The name in the changelog, such as `Order.id`, `listOrders 401`, `listOrders 200 Link` or
    /// `getPet petId`.
    pub name: String,
    /// True if this place is a schema or a field. In names, a dot separates such a place from its
    /// fields.
    is_schema: bool,
}

impl<'a> ComparedPlace<'a> {
    pub fn documents(old: &'a Value, new: &'a Value) -> ComparedPlace<'a> {
        let (pointer, name) = (String::new(), "the API".to_string());
        ComparedPlace { key: "", old: Some(old), new: Some(new), pointer, name, is_schema: false }
    }

    pub fn both(&self) -> Option<(&'a Value, &'a Value)> {
        self.old.zip(self.new)
    }

    pub fn with<'b>(&self, old: Option<&'b Value>, new: Option<&'b Value>) -> ComparedPlace<'b>
    where
        'a: 'b,
    {
        ComparedPlace { old, new, ..self.clone() }
    }

    fn member<'b>(&self, key: &'b str) -> ComparedPlace<'b>
    where
        'a: 'b,
    {
        let get = |object: Option<&'a Value>| object?.get(key);
        let name = if self.pointer.is_empty() { key } else { &self.name };
        ComparedPlace {
            key,
            old: get(self.old),
            new: get(self.new),
            pointer: pointer_to(&self.pointer, key),
            name: name.to_string(),
            is_schema: self.is_schema,
        }
    }

    pub fn named(&self, name: &str) -> ComparedPlace<'a> {
        ComparedPlace { name: name.to_string(), is_schema: false, ..self.clone() }
    }

    pub fn part(&self, part: &str) -> ComparedPlace<'a> {
        self.named(&format!("{} {part}", self.name))
    }

    pub fn field(&self, field: &str) -> ComparedPlace<'a> {
        let dot = if self.is_schema { "." } else { " " };
        ComparedPlace {
            name: format!("{}{dot}{field}", self.name),
            is_schema: true,
            ..self.clone()
        }
    }

    /// Returns this place with the name of a schema. Names of its fields follow a dot, as in
    /// `Order.id`.
    pub fn schema(&self, name: &str) -> ComparedPlace<'a> {
        ComparedPlace { name: name.to_string(), is_schema: true, ..self.clone() }
    }

    /// Returns the name of the component that this place refers to. Returns `None` if the two
    /// documents refer to different components.
    pub fn component(&self) -> Option<&'a str> {
        let name = component(self.new.or(self.old)?)?;
        self.old.is_none_or(|old| component(old) == Some(name)).then_some(name)
    }

    /// Returns a string such as "`key` changed from 1 to absent".
    pub fn transition(&self) -> String {
        format!("`{}` changed from {} to {}", self.key, shorten(self.old), shorten(self.new))
    }
}

#[derive(Debug)]
pub(super) struct Findings {
    pub today: NaiveDate,
    pub changes: Vec<Change>,
}

impl Findings {
    /// Applies `rule` to each member that was added, removed or changed between two objects. Treats
    /// an absent object as empty. Values that are not objects are a breaking change.
    pub fn each(
        &mut self,
        of: &ComparedPlace<'_>,
        mut rule: impl FnMut(&mut Findings, &ComparedPlace<'_>),
    ) {
        let empty = json!({});
        let objects = (of.old.unwrap_or(&empty).as_object(), of.new.unwrap_or(&empty).as_object());
        let (Some(old), Some(new)) = objects else {
            return self.breaking(of, "is not an object before and after");
        };
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for member in old.keys().chain(added).map(|key| of.member(key)) {
            // Skip the name of a referenced component, because the name does not change requests or
            // responses.
            if member.old != member.new && member.key != COMPONENT {
                rule(self, &member);
            }
        }
    }

    /// Adds a change that no rule covers. A new `x-` extension is neutral, because no caller can
    /// rely on it yet.
    pub fn other(&mut self, at: &ComparedPlace<'_>) {
        if at.key.starts_with("x-") && at.old.is_none() {
            self.neutral(at, "is a new extension");
        } else {
            self.breaking(at, format!("{}, for which there is no rule", at.transition()));
        }
    }

    /// Adds a neutral change: a text that only people read, such as a description, was reworded.
    pub fn text(&mut self, at: &ComparedPlace<'_>) {
        self.neutral(at, "is reworded");
    }

    /// Adds a change of a flag that is false by default. `set` describes a change to true, and
    /// `unset` describes a change to false.
    pub fn flag(&mut self, at: &ComparedPlace<'_>, set: (&str, Verdict), unset: (&str, Verdict)) {
        let flag = |value: Option<&Value>| value.map_or(Some(false), Value::as_bool);
        match (flag(at.old), flag(at.new)) {
            (Some(false), Some(true)) => self.add(at, set.1, set.0),
            (Some(true), Some(false)) => self.add(at, unset.1, unset.0),
            (Some(_), Some(_)) => {}
            _ => self.other(at),
        }
    }

    /// Setting and removing `deprecated` both count as additions, so that the changelog must name
    /// the change.
    pub fn deprecation(&mut self, at: &ComparedPlace<'_>) {
        let (set, unset) = ("is deprecated", "is no longer deprecated");
        self.flag(at, (set, Verdict::Addition), (unset, Verdict::Addition));
    }

    /// Turns breaking changes after the first `count` findings into additions. For parts of the
    /// published document that promised nothing.
    pub fn announce_since(&mut self, count: usize) {
        for change in self.changes.iter_mut().skip(count) {
            change.verdict = change.verdict.min(Verdict::Addition);
        }
    }

    pub fn neutral(&mut self, at: &ComparedPlace<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Neutral, description);
    }

    pub fn addition(&mut self, at: &ComparedPlace<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Addition, description);
    }

    pub fn breaking(&mut self, at: &ComparedPlace<'_>, description: impl Into<String>) {
        self.add(at, Verdict::Breaking, description);
    }

    pub fn add(
        &mut self,
        at: &ComparedPlace<'_>,
        verdict: Verdict,
        description: impl Into<String>,
    ) {
        let (pointer, name) = (at.pointer.clone(), at.name.clone());
        self.changes.push(Change { pointer, name, verdict, description: description.into() });
    }
}

pub(super) fn shorten(value: Option<&Value>) -> String {
    const MAX_CHARS: usize = 40;
    let text = value.map_or("absent".to_string(), Value::to_string);
    if text.chars().count() <= MAX_CHARS {
        return text;
    }
    text.chars().take(MAX_CHARS).chain(['…']).collect()
}
