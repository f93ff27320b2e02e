//! Schemas: the set of values that callers send or receive.

use super::bounds;
use super::change::Verdict;
use super::findings::{Direction, Findings, Shift};
use super::location::Location;
use super::members::{Member, shorten};
use serde_json::Value;

/// Compares two schemas of one value.
pub(super) fn compare(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Value,
    new: &Value,
) {
    findings.members(at, old, new, |findings, member| match member.key {
        "description" | "example" | "examples" | "externalDocs" => findings.text(member),
        "deprecated" => findings.deprecation(member),
        "nullable" => nullable(findings, direction, member),
        "properties" => properties(findings, direction, member, old),
        "required" => required(findings, direction, member, (old, new)),
        "additionalProperties" => additional_properties(findings, direction, member),
        "items" => compare_member(findings, direction, member),
        "enum" => choices(findings, direction, member),
        "allOf" | "anyOf" => subschemas(findings, direction, member),
        "oneOf" | "not" => only_reworded(findings, direction, member),
        "$ref" => findings.breaking(
            &member.at,
            format!("{}, which names a type of generated clients", member.transition()),
        ),
        key if bounds::is_bound(key) => bounds::compare(findings, direction, member, (old, new)),
        // Any change of these is breaking: a reader of the old value cannot read
        // the new one, and a generated client has another type.
        "type" | "format" | "title" | "default" => {
            findings.breaking(&member.at, member.transition())
        }
        _ => findings.other(member),
    });
}

/// Compares a schema that must be there on both sides.
pub(super) fn compare_member(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    match member.both() {
        Some((old, new)) => compare(findings, &member.at, direction, old, new),
        None => findings.breaking(&member.at, member.transition()),
    }
}

/// `allOf` and `anyOf` grow and shrink with each of their schemas. The effect of
/// one schema more or less is not decidable.
fn subschemas(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    match (list(member.old), list(member.new)) {
        (Some(old), Some(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(&new).enumerate() {
                let at = member.at.member(&index.to_string());
                compare(findings, &at, direction, old, new);
            }
        }
        _ => findings.breaking(&member.at, member.transition()),
    }
}

/// `oneOf` and `not` do not grow with their schemas: only words may change.
fn only_reworded(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let mut inside = Findings::default();
    match member.key {
        "not" => compare_member(&mut inside, direction, member),
        _ => subschemas(&mut inside, direction, member),
    }
    match inside.worst() {
        Some(Verdict::Neutral) | None => findings.extend(inside, |change| change),
        _ => findings.breaking(&member.at, member.transition()),
    }
}

fn nullable(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    match member.flags() {
        (false, true) => findings.shift(&member.at, direction, Shift::Wider, "may be null"),
        (true, false) => findings.shift(&member.at, direction, Shift::Narrower, "is never null"),
        _ => {}
    }
}

fn properties(findings: &mut Findings, direction: Direction, member: &Member<'_>, schema: &Value) {
    // A caller who was promised no further fields may reject a new one.
    let open = matches!(schema.get("additionalProperties"), None | Some(Value::Bool(true)));
    findings.inside(member, |findings, member| {
        let at = member.named();
        match (member.old, member.new, direction) {
            (Some(old), Some(new), _) => compare(findings, &at, direction, old, new),
            (Some(_), None, Direction::Received) => findings.breaking(&at, "is no longer sent"),
            (Some(_), None, Direction::Sent) => findings.breaking(&at, "is no longer accepted"),
            (None, _, Direction::Received) if open => findings.addition(&at, "is a new field"),
            (None, _, Direction::Received) => {
                findings.breaking(&at, "is a new field where further fields were ruled out");
            }
            (None, _, Direction::Sent) => findings.addition(&at, "is a new field to send"),
        }
    });
}

fn required(
    findings: &mut Findings,
    direction: Direction,
    member: &Member<'_>,
    (old, new): (&Value, &Value),
) {
    let (before, now) = (texts(member.old), texts(member.new));
    let has = |schema: &Value, name: &str| schema["properties"].get(name).is_some();
    // Fields that were added or removed are reported as such.
    for name in before.iter().filter(|name| !now.contains(name) && has(new, name)) {
        let at = member.at.named_member(name, name);
        findings.shift(&at, direction, Shift::Wider, "is no longer required");
    }
    let is_new = |name: &str| direction == Direction::Received && !has(old, name);
    for name in now.iter().filter(|name| !before.contains(name) && !is_new(name)) {
        let at = member.at.named_member(name, name);
        findings.shift(&at, direction, Shift::Narrower, "is required");
    }
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn additional_properties(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    // What is allowed: nothing, what a schema describes, anything.
    let openness = |value: Option<&Value>| match value {
        Some(Value::Bool(false)) => 0,
        Some(Value::Object(members)) if !members.is_empty() => 1,
        _ => 2,
    };
    let shift = match (openness(member.old), openness(member.new)) {
        (1, 1) => return compare_member(findings, direction, member),
        (old, new) if old < new => Shift::Wider,
        (old, new) if old > new => Shift::Narrower,
        _ => return,
    };
    findings.shift(&member.at, direction, shift, member.transition());
}

fn choices(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    let (Some(old), Some(new)) = (list(member.old), list(member.new)) else {
        let shift = if member.old.is_some() { Shift::Wider } else { Shift::Narrower };
        return findings.shift(&member.at, direction, shift, member.transition());
    };
    for value in old.iter().filter(|value| !new.contains(value)) {
        let description = format!("no longer has the value {}", shorten(Some(value)));
        findings.shift(&member.at, direction, Shift::Narrower, description);
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        let description = format!("has the new value {}", shorten(Some(value)));
        findings.shift(&member.at, direction, Shift::Wider, description);
    }
}
