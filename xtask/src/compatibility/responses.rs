//! Responses: statuses, with their headers and bodies.
//!
//! A status without a response of its own has that of its range, and then the
//! default one, so a response that is added or removed is compared with what
//! held for its status without it.

use super::findings::{Direction, Findings};
use super::location::Location;
use super::members::{Member, differing};
use super::references::component_name;
use super::{content, parameters};
use serde_json::{Map, Value};

/// Compares the responses of an operation.
pub(super) fn compare(findings: &mut Findings, responses: &Member<'_>) {
    findings.inside(responses, |findings, member| {
        if member.key.starts_with("x-") {
            return findings.other(member);
        }
        let at = member.part();
        match (member.old, member.new) {
            (Some(old), Some(new)) => response(findings, &at, old, new),
            (None, Some(new)) => match wider(responses.old, member.key) {
                Some(old) => {
                    findings.addition(&at, "is described by itself");
                    response(findings, &at, old, new);
                }
                None => added(findings, &at, member.key),
            },
            (Some(old), None) => match wider(responses.new, member.key) {
                Some(new) => {
                    findings.neutral(&at, "is described by a wider response");
                    response(findings, &at, old, new);
                }
                None => findings.breaking(&at, "is no longer a response"),
            },
            (None, None) => {}
        }
    });
}

/// The response that holds for a status without one of its own.
fn wider<'a>(responses: Option<&'a Value>, status: &str) -> Option<&'a Value> {
    let responses = responses?;
    let range = status.get(..1).filter(|_| status != "default").map(|class| format!("{class}XX"));
    let range = range.filter(|range| range != status).and_then(|range| responses.get(&range));
    range.or_else(|| responses.get("default").filter(|_| status != "default"))
}

/// A new status. Callers handle a new error like the others of its class; a new
/// success, a redirect or `default`, which is any of them, they may take for a
/// failure.
fn added(findings: &mut Findings, at: &Location, status: &str) {
    match status.as_bytes() {
        [b'4' | b'5', ..] => findings.addition(at, "is a new error"),
        _ => findings.breaking(at, "is a new response that callers do not expect"),
    }
}

fn response(findings: &mut Findings, at: &Location, old: &Value, new: &Value) {
    findings.members(at, old, new, |findings, member| match member.key {
        "description" => findings.text(member),
        "headers" => headers(findings, member),
        "content" => content::compare(findings, Direction::Received, member),
        _ => findings.other(member),
    });
}

/// Header names are case-insensitive. A shared header is known by its name alone.
fn headers(findings: &mut Findings, member: &Member<'_>) {
    let (old, new) = (lower_case(member.old), lower_case(member.new));
    for header in differing(&member.at, &old, &new) {
        let described = header.new.or(header.old);
        let name =
            described.and_then(Value::as_object).and_then(component_name).map(str::to_string);
        let at = name.map_or_else(|| header.part(), |name| header.at.named(&name));
        match (header.old, header.new) {
            (Some(old), Some(new)) => {
                parameters::compare_one(findings, &at, Direction::Received, old, new);
            }
            (Some(_), None) => findings.breaking(&at, "is no longer sent"),
            _ => findings.addition(&at, "is a new header"),
        }
    }
}

/// The headers by name. Content-Type is described by the content.
fn lower_case(headers: Option<&Value>) -> Map<String, Value> {
    let mut headers = content::lower_case(headers);
    headers.shift_remove("content-type");
    headers
}
