//! Parameters, which callers send, and headers, which they receive: a document
//! describes both in the same way.

use super::findings::{Direction, Findings};
use super::location::Location;
use super::members::Member;
use super::{content, schemas};
use serde_json::Value;

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
    findings.members(at, old, new, |findings, member| match member.key {
        "description" | "example" | "examples" => findings.text(member),
        // The identity is the same, so only the case of a header name differs.
        "name" => findings.neutral(&member.at, "is written in another letter case"),
        // Where a header is read from is how the document is organised.
        "$ref" => {}
        "deprecated" => findings.deprecation(member),
        "required" => required(findings, direction, member),
        "schema" if member.both().is_some() => schemas::compare_member(findings, direction, member),
        "content" => content::compare(findings, direction, member),
        "schema" | "style" | "explode" => findings.breaking(
            &member.at,
            format!("{}, which is another way to write the value", member.transition()),
        ),
        _ => findings.other(member),
    });
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
