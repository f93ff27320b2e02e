//! Schemas made of schemas: `anyOf`, `oneOf`, `not`, and what of `allOf` could
//! not be merged. All but `not` are sets: their order says nothing.

use super::change::Verdict;
use super::findings::{Direction, Findings, Shift};
use super::members::Member;
use super::normal_schema::{Schema, is_annotation, normal};
use serde_json::{Value, json};

/// Compares one of these keywords.
pub(super) fn compare(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    match member.key {
        "not" => not(findings, direction, member),
        // Both absent and one of one are in no normal form.
        _ if member.both().is_none() => {
            let shift = if member.old.is_none() { Shift::Narrower } else { Shift::Wider };
            findings.shift(&member.at, direction, shift, member.transition());
        }
        // Each further part of `allOf` is a condition more.
        "allOf" => sets(findings, direction, member, Shift::Narrower),
        key => {
            let compared = findings.compared.clone();
            let excludes = |document: &Value, list: Option<&Value>| {
                exclude_each_other(document, elements(list))
            };
            let grows = key == "anyOf"
                || (excludes(&compared.old, member.old) && excludes(&compared.new, member.new));
            // A value that fits two of `oneOf` fits none: it does not grow with its schemas.
            let if_added = if grows { Shift::Wider } else { Shift::Other };
            sets(findings, direction, member, if_added);
        }
    }
}

/// What a schema is one alternative of, if the other side is alternatives and
/// nothing else: the key, and each side's list.
pub(super) fn wrapped(old: &Schema, new: &Schema) -> Option<(&'static str, Value, Value)> {
    let only = |schema: &Schema, key: &str| {
        schema.contains_key(key) && schema.keys().all(|other| other == key || is_annotation(other))
    };
    ["anyOf", "oneOf"].into_iter().find_map(|key| {
        let one = |schema: &Schema| json!([Value::Object(schema.clone())]);
        let has = |schema: &Schema| schema.contains_key("anyOf") || schema.contains_key("oneOf");
        match (only(old, key), only(new, key)) {
            (false, true) if !has(old) => Some((key, one(old), new.get(key)?.clone())),
            (true, false) if !has(new) => Some((key, old.get(key)?.clone(), one(new))),
            _ => None,
        }
    })
}

/// Whether parts have fields of their own, so that which fields there are is not
/// easy to say.
pub(super) fn has_fields(parts: &Value) -> bool {
    elements(Some(parts)).iter().any(|part| part.get("properties").is_some())
}

fn elements(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Pairs the schemas that are equal, then judges those that are left.
fn sets(findings: &mut Findings, direction: Direction, member: &Member<'_>, if_added: Shift) {
    let mut new: Vec<_> = elements(member.new).iter().collect();
    let mut old = Vec::new();
    let mut words = findings.apart();
    for (index, before) in (0..).zip(elements(member.old)) {
        let at = member.at.member(&format!("{index}"));
        let same = new.iter().position(|now| {
            let mut inside = findings.apart();
            inside.schemas(&at, direction, before, now);
            inside.worst().is_none_or(|worst| worst == Verdict::Neutral)
        });
        match same {
            Some(position) => {
                words.schemas(&at, direction, before, new.remove(position));
            }
            None => old.push((at, before)),
        }
    }
    findings.extend(words, |change| change);
    let shift = match (old.as_slice(), new.as_slice(), if_added) {
        ([], [], _) => return,
        (_, _, Shift::Other) => Shift::Other,
        ([], _, shift) => shift,
        (_, [], Shift::Wider) => Shift::Narrower,
        (_, [], Shift::Narrower) => Shift::Wider,
        (old, new, _) if old.len() == new.len() => {
            for ((at, before), now) in old.iter().zip(new) {
                findings.schemas(at, direction, before, now);
            }
            return;
        }
        _ => Shift::Other,
    };
    findings.shift(&member.at, direction, shift, member.transition());
}

/// Whether no value fits two of the schemas, because each has another type.
fn exclude_each_other(document: &Value, schemas: &[Value]) -> bool {
    let mut seen: Vec<Value> = Vec::new();
    let mut nullable = 0;
    schemas.iter().all(|schema| {
        let Some(schema) = normal(document, schema) else { return false };
        nullable += usize::from(schema.contains_key("nullable"));
        let Some(kind) = schema.get("type") else { return false };
        // Every integer is a number.
        let kind = if *kind == "integer" { json!("number") } else { kind.clone() };
        let is_new = !seen.contains(&kind);
        seen.push(kind);
        is_new && nullable <= 1
    })
}

/// What `not` excludes may be reworded; it cannot grow or shrink.
fn not(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let Some((old, new)) = member.both() else {
        let shift = if member.old.is_none() { Shift::Narrower } else { Shift::Wider };
        return findings.shift(&member.at, direction, shift, member.transition());
    };
    let mut inside = findings.apart();
    inside.schemas(&member.at, direction, old, new);
    match inside.worst() {
        Some(Verdict::Neutral) | None => findings.extend(inside, |change| change),
        _ => findings.breaking(&member.at, member.transition()),
    }
}
