//! Parameters, which callers send, and headers, which they receive: a document
//! describes both in the same way.

use super::findings::{Direction, Findings, Shift};
use super::location::Location;
use super::members::Member;
use super::{content, schemas};
use serde_json::{Value, json};

/// OpenAPI describes these headers elsewhere, and ignores them here.
const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];

/// The parameters of an operation: its own, and those of its path that it does
/// not override.
pub(super) fn effective(of_path: Option<&Value>, own: Option<&Value>) -> Vec<Value> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let own = list(own);
    let inherited = list(of_path)
        .into_iter()
        .filter(|parameter| !own.iter().any(|other| identity(other) == identity(parameter)));
    let is_ignored = |parameter: &Value| {
        let (place, name) = identity(parameter);
        place == "header" && IGNORED.contains(&name.as_str())
    };
    inherited.chain(own.iter().cloned()).filter(|parameter| !is_ignored(parameter)).collect()
}

/// A parameter is identified by where it is sent and its name. Header names are
/// case-insensitive.
fn identity(parameter: &Value) -> (String, String) {
    let text = |key: &str| parameter[key].as_str().unwrap_or_default().to_string();
    match text("in").as_str() {
        "header" => ("header".to_string(), text("name").to_lowercase()),
        place => (place.to_string(), text("name")),
    }
}

/// Compares the parameters of an operation.
pub(super) fn compare(findings: &mut Findings, at: &Location, old: &[Value], new: &[Value]) {
    let location = |parameter: &Value| {
        let (place, name) = identity(parameter);
        at.part(&format!("{place} {name}"), &name)
    };
    for parameter in old {
        let at = location(parameter);
        match new.iter().find(|other| identity(other) == identity(parameter)) {
            Some(other) => compare_one(findings, &at, Direction::Sent, parameter, other),
            None => findings.breaking(&at, "is no longer a parameter"),
        }
    }
    for parameter in new {
        if old.iter().any(|other| identity(other) == identity(parameter)) {
            continue;
        }
        if parameter["required"] == true {
            findings.breaking(&location(parameter), "is a new required parameter");
        } else {
            findings.addition(&location(parameter), "is a new optional parameter");
        }
    }
}

/// Compares two descriptions of one parameter or one header.
pub(super) fn compare_one(
    findings: &mut Findings,
    at: &Location,
    direction: Direction,
    old: &Value,
    new: &Value,
) {
    let (old, new) = (with_defaults(old), with_defaults(new));
    findings.members(at, &old, &new, |findings, member| match member.key {
        "description" | "example" | "examples" => findings.text(member),
        // The identity is the same, so only the case of a header name differs.
        "name" => findings.neutral(&member.at, "is written in another letter case"),
        // Where a header is read from is how the document is organised.
        "$ref" => {}
        "deprecated" => findings.deprecation(member),
        "required" => required(findings, direction, member),
        "allowEmptyValue" | "allowReserved" => {
            let shift = if member.flags().1 { Shift::Wider } else { Shift::Narrower };
            findings.shift(&member.at, direction, shift, member.transition());
        }
        "schema" if member.both().is_some() => schemas::compare_member(findings, direction, member),
        "content" => content::compare(findings, direction, member),
        "schema" | "style" | "explode" => findings.breaking(
            &member.at,
            format!("{}, which is another way to write the value", member.transition()),
        ),
        _ => findings.other(member),
    });
}

/// A parameter with what OpenAPI takes for an absent member. A header has no
/// `in`, and is written like a header parameter.
fn with_defaults(parameter: &Value) -> Value {
    let mut parameter = parameter.clone();
    let style = match parameter.get("in").and_then(Value::as_str) {
        Some("query" | "cookie") => "form",
        _ => "simple",
    };
    let Value::Object(members) = &mut parameter else { return parameter };
    for flag in ["required", "deprecated", "allowEmptyValue", "allowReserved"] {
        members.entry(flag).or_insert(json!(false));
    }
    if members.contains_key("schema") {
        let style = members.entry("style").or_insert(json!(style)).clone();
        members.entry("explode").or_insert(json!(style == "form"));
    }
    parameter
}

/// Whether callers must send something, or can count on receiving it.
pub(super) fn required(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    match (member.flags(), direction) {
        ((false, true), Direction::Sent) => findings.breaking(&member.at, "must be sent"),
        ((true, false), Direction::Sent) => findings.addition(&member.at, "is optional"),
        ((true, false), Direction::Received) => findings.breaking(&member.at, "may be absent"),
        ((false, true), Direction::Received) => findings.addition(&member.at, "is always sent"),
        _ => {}
    }
}
