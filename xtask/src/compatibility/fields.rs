//! The fields of an object: which there are, which must be there, and what may be
//! there besides.
//!
//! A read-only field is no part of a request, a write-only field none of a
//! response, so the other direction is judged without it.

use super::change::Verdict;
use super::findings::{Direction, Findings, Shift};
use super::location::Location;
use super::members::Member;
use super::normal_schema::{Schema, normal};
use serde_json::{Value, json};

/// The fields of one side.
struct Fields<'a> {
    document: &'a Value,
    schema: &'a Schema,
    direction: Direction,
}

impl Fields<'_> {
    fn names(&self) -> Vec<&String> {
        let fields = self.schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flat_map(|fields| fields.keys()).collect()
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.schema.get("properties")?.get(name)
    }

    /// Whether the field is no part of what goes in this direction.
    fn is_hidden(&self, name: &str) -> bool {
        let mark = match self.direction {
            Direction::Sent => "readOnly",
            Direction::Received => "writeOnly",
        };
        let field = self.get(name).and_then(|field| normal(self.document, field));
        field.is_some_and(|field| field.get(mark) == Some(&json!(true)))
    }

    fn required(&self) -> Vec<&str> {
        let list = self.schema.get("required").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    fn requires(&self, name: &str) -> bool {
        self.required().contains(&name)
    }
}

/// Compares the fields of two schemas in their normal form.
pub(super) fn compare(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Schema,
    new: &Schema,
) {
    let compared = findings.compared.clone();
    let old = Fields { document: &compared.old, schema: old, direction };
    let new = Fields { document: &compared.new, schema: new, direction };
    let added = new.names().into_iter().filter(|name| old.get(name).is_none());
    for name in old.names().into_iter().chain(added) {
        let at = at.member("properties").field(name, name);
        field(findings, &at, name, &old, &new);
    }
    required(findings, &at.member("required"), &old, &new);
}

fn field(findings: &mut Findings, at: &Location, name: &str, old: &Fields<'_>, new: &Fields<'_>) {
    let direction = old.direction;
    match (old.get(name), new.get(name)) {
        (Some(before), Some(now)) => match (old.is_hidden(name), new.is_hidden(name), direction) {
            (true, true, _) if before != now => {
                findings.neutral(at, "changes where it is not part of the message");
            }
            (true, true, _) => {}
            (false, false, _) => findings.schemas(at, direction, before, now),
            (false, true, Direction::Sent) => findings.addition(at, "need not be sent any more"),
            (false, true, Direction::Received) => findings.breaking(at, "is no longer sent"),
            (true, false, _) => appeared(findings, at, name, old, new),
        },
        (Some(_), None) if old.is_hidden(name) => {
            findings.neutral(at, "was not part of the message");
        }
        (Some(_), None) => match direction {
            Direction::Sent => findings.breaking(at, "is no longer accepted"),
            Direction::Received => findings.breaking(at, "is no longer sent"),
        },
        (None, Some(_)) if new.is_hidden(name) => {
            findings.neutral(at, "is not part of the message");
        }
        _ => appeared(findings, at, name, old, new),
    }
}

fn appeared(
    findings: &mut Findings,
    at: &Location,
    name: &str,
    old: &Fields<'_>,
    new: &Fields<'_>,
) {
    match (old.direction, old.schema.get("additionalProperties")) {
        (Direction::Sent, _)
            if new.requires(name) && (!old.requires(name) || old.is_hidden(name)) =>
        {
            findings.breaking(at, "is a new field that must be sent");
        }
        (Direction::Sent, _) => findings.addition(at, "is a new field to send"),
        // A caller who was promised no further fields may reject a new one.
        (Direction::Received, Some(Value::Bool(false))) => {
            findings.breaking(at, "is a new field where further fields were ruled out");
        }
        (Direction::Received, None) => findings.addition(at, "is a new field"),
        (Direction::Received, Some(announced)) => {
            let mut inside = findings.apart();
            let empty = json!({});
            let now = new.get(name).unwrap_or(&empty);
            inside.schemas(at, Direction::Received, announced, now);
            if inside.worst() == Some(Verdict::Breaking) {
                findings.breaking(at, "is a new field where fields of another kind were announced");
            } else {
                findings.addition(at, "is a new field");
            }
        }
    }
}

/// Fields that were added or removed, or became part of the message or none, are
/// reported as such.
fn required(findings: &mut Findings, at: &Location, old: &Fields<'_>, new: &Fields<'_>) {
    for name in old.required().into_iter().filter(|name| !new.requires(name)) {
        let is_removed = old.get(name).is_some() && new.get(name).is_none();
        if !is_removed && !old.is_hidden(name) && !new.is_hidden(name) {
            let at = at.field(name, name);
            findings.shift(&at, old.direction, Shift::Wider, "is no longer required");
        }
    }
    for name in new.required().into_iter().filter(|name| !old.requires(name)) {
        let is_added = old.get(name).is_none() && new.get(name).is_some();
        if !is_added && !old.is_hidden(name) && !new.is_hidden(name) {
            findings.shift(&at.field(name, name), old.direction, Shift::Narrower, "is required");
        }
    }
}

/// Compares what else may be there.
pub(super) fn compare_additional(
    findings: &mut Findings,
    direction: Direction,
    member: &Member<'_>,
) {
    // What is allowed: nothing, what a schema describes, anything.
    let openness = |value: Option<&Value>| match value {
        Some(Value::Bool(false)) => 0,
        Some(Value::Object(members)) if !members.is_empty() => 1,
        _ => 2,
    };
    let shift = match (openness(member.old), openness(member.new)) {
        (1, 1) => {
            let (Some(old), Some(new)) = (member.old, member.new) else { return };
            return findings.schemas(&member.at, direction, old, new);
        }
        (old, new) if old < new => Shift::Wider,
        (old, new) if old > new => Shift::Narrower,
        _ => return,
    };
    findings.shift(&member.at, direction, shift, member.transition());
}
