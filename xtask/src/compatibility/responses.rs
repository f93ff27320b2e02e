//! Responses: statuses, with their headers and bodies.

use super::findings::{Direction, Findings};
use super::location::Location;
use super::members::{Member, differing};
use super::{content, parameters};
use serde_json::{Map, Value};

/// Compares the responses of an operation.
pub(super) fn compare(findings: &mut Findings, responses: &Member<'_>) {
    findings.inside(responses, |findings, member| match (member.old, member.new) {
        _ if member.key.starts_with("x-") => findings.other(member),
        (Some(old), Some(new)) => response(findings, &member.at, old, new),
        (None, Some(new)) => added(findings, &member.named(), responses.old, new),
        _ => findings.breaking(&member.named(), "is no longer a response"),
    });
}

/// A new status. Callers handle a new error like the others of its class; a new
/// success, a redirect or `default`, which is any of them, they may take for a
/// failure.
fn added(findings: &mut Findings, at: &Location, published: Option<&Value>, new: &Value) {
    match at.name.as_bytes() {
        [class @ (b'4' | b'5'), ..] => {
            findings.addition(at, "is a new error");
            // The range, if there was one, promised something for it.
            let range = format!("{}XX", char::from(*class));
            if let Some(old) = published.and_then(|responses| responses.get(&range)) {
                response(findings, at, old, new);
            }
        }
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

fn headers(findings: &mut Findings, member: &Member<'_>) {
    let (old, new) = (lower_case_names(member.old), lower_case_names(member.new));
    for header in differing(&member.at, &old, &new) {
        let at = header.named();
        match (header.old, header.new) {
            (Some(old), Some(new)) => {
                parameters::compare_one(findings, &at, Direction::Received, old, new);
            }
            (Some(_), None) => findings.breaking(&at, "is no longer sent"),
            _ => findings.addition(&at, "is a new header"),
        }
    }
}

/// Header names are case-insensitive.
fn lower_case_names(headers: Option<&Value>) -> Map<String, Value> {
    let headers = headers.and_then(Value::as_object).into_iter().flatten();
    headers.map(|(name, header)| (name.to_lowercase(), header.clone())).collect()
}
