//! Schemas: the set of values that callers send or receive. Each keyword narrows
//! the set by itself, so each is judged by itself.

use super::findings::{Direction, Findings, Shift};
use super::location::Location;
use super::members::{Member, differing};
use super::normal_schema::{Schema, normal};
use super::references::component_name;
use super::{bounds, choices, fields};
use serde_json::{Value, json};

/// Compares two schemas of one value.
pub(super) fn compare(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Value,
    new: &Value,
) {
    let compared = findings.compared.clone();
    let schemas = (normal(&compared.old, old), normal(&compared.new, new));
    let (Some(before), Some(now)) = schemas else {
        if old != new {
            findings.breaking(at, "is not an object before and after");
        }
        return;
    };
    findings.once((old.clone(), new.clone(), direction), |findings| {
        let name = component_name(&before).filter(|name| component_name(&now) == Some(name));
        let at = name.map_or(at.clone(), |name| at.schema(name));
        normal_forms(findings, &at, direction, &before, &now);
    });
}

fn normal_forms(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Schema,
    new: &Schema,
) {
    let kinds = (old.get("type").map(text), new.get("type").map(text));
    if let (Some(before), Some(now)) = kinds
        && kind_shift(Some(before), Some(now)) == Some(Shift::Other)
    {
        // No keyword of the one says anything about the other.
        let description = format!("`type` changed from \"{before}\" to \"{now}\"");
        return findings.breaking(&at.member("type"), description);
    }
    for member in &differing(at, old, new) {
        match member.key {
            "description" | "example" | "examples" | "externalDocs" | "x-enumDescriptions" => {
                findings.text(member);
            }
            // Where a schema is read from is how the document is organised.
            "$ref" => {}
            "deprecated" => findings.deprecation(member),
            "nullable" => nullable(findings, direction, member),
            // Below, together.
            "properties" | "required" => {}
            "additionalProperties" => fields::compare_additional(findings, direction, member),
            "items" => compare_member(findings, direction, member),
            "enum" => choices::compare(findings, direction, member),
            "x-extensible-enum" => choices::compare_known(findings, member, new),
            "type" => {
                let shift = kind_shift(kinds.0, kinds.1).unwrap_or(Shift::Other);
                findings.shift(&member.at, direction, shift, member.transition());
            }
            key if bounds::is_bound(key) => {
                bounds::compare(findings, direction, member);
            }
            // Any change of these is breaking: see the policy of the module above.
            "format" | "title" | "default" => findings.breaking(&member.at, member.transition()),
            _ => findings.other(member),
        }
    }
    fields::compare(findings, at, direction, old, new);
}

/// Compares the schema of something; without one, everything is allowed.
pub(super) fn compare_member(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let any = json!({});
    let (old, new) = (member.old.unwrap_or(&any), member.new.unwrap_or(&any));
    compare(findings, &member.at, direction, old, new);
}

fn nullable(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    match member.flags() {
        (false, true) => findings.shift(&member.at, direction, Shift::Wider, "may be null"),
        (true, false) => findings.shift(&member.at, direction, Shift::Narrower, "is never null"),
        _ => {}
    }
}

/// Every integer is a number; without a type, every type is allowed.
fn kind_shift(old: Option<&str>, new: Option<&str>) -> Option<Shift> {
    Some(match (old, new) {
        (old, new) if old == new => return None,
        (Some("integer"), Some("number")) | (Some(_), None) => Shift::Wider,
        (Some("number"), Some("integer")) | (None, Some(_)) => Shift::Narrower,
        _ => Shift::Other,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
