//! The fields of an object: which there are, which must be there, and what may be
//! there besides.

use super::findings::{Direction, Findings, Shift};
use super::location::Location;
use super::members::Member;
use super::normal_schema::Schema;
use serde_json::Value;

fn get<'a>(schema: &'a Schema, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

fn names(schema: &Schema) -> impl Iterator<Item = &String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flat_map(|fields| fields.keys())
}

fn required(schema: &Schema) -> Vec<&str> {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Compares the fields of two schemas in their normal form.
pub(super) fn compare(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Schema,
    new: &Schema,
) {
    let added = names(new).filter(|name| get(old, name).is_none());
    for name in names(old).chain(added) {
        let at = at.member("properties").field(name, name);
        match (get(old, name), get(new, name), direction) {
            (Some(before), Some(now), _) => findings.schemas(&at, direction, before, now),
            (Some(_), None, Direction::Sent) => findings.breaking(&at, "is no longer accepted"),
            (Some(_), None, Direction::Received) => findings.breaking(&at, "is no longer sent"),
            (None, _, Direction::Sent) if required(new).contains(&name.as_str()) => {
                findings.breaking(&at, "is a new field that must be sent");
            }
            (None, _, Direction::Sent) => findings.addition(&at, "is a new field to send"),
            // A caller who was promised other further fields, or none, may reject a new one.
            (None, _, Direction::Received) if old.contains_key("additionalProperties") => {
                findings.breaking(&at, "is a new field where further fields were promised");
            }
            (None, _, Direction::Received) => findings.addition(&at, "is a new field"),
        }
    }
    let at = at.member("required");
    // Fields that were added or removed are reported as such.
    for name in required(old).into_iter().filter(|name| !required(new).contains(name)) {
        if get(old, name).is_none() || get(new, name).is_some() {
            let at = at.field(name, name);
            findings.shift(&at, direction, Shift::Wider, "is no longer required");
        }
    }
    for name in required(new).into_iter().filter(|name| !required(old).contains(name)) {
        if get(old, name).is_some() || get(new, name).is_none() {
            findings.shift(&at.field(name, name), direction, Shift::Narrower, "is required");
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
