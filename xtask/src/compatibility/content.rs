//! Media types and their schemas.

use super::findings::{Direction, Findings};
use super::members::{Member, differing};
use super::schemas;
use serde_json::{Map, Value};

/// Compares the media types of a body. Callers who send are offered a new one;
/// callers who receive might be sent one that they cannot read.
pub(super) fn compare(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let (old, new) = (lower_case(member.old), lower_case(member.new));
    for member in &differing(&member.at, &old, &new) {
        match (member.old, member.new, direction) {
            (Some(_), Some(_), _) => media_type(findings, direction, member),
            (Some(_), None, _) => findings.breaking(&member.part(), "is removed"),
            (None, _, Direction::Sent) => findings.addition(&member.part(), "is accepted too"),
            (None, _, Direction::Received) => {
                findings.breaking(&member.part(), "may be sent instead of what callers can read");
            }
        }
    }
}

/// Names of media types are case-insensitive.
pub(super) fn lower_case(members: Option<&Value>) -> Map<String, Value> {
    let members = members.and_then(Value::as_object).into_iter().flatten();
    members.map(|(name, value)| (name.to_lowercase(), value.clone())).collect()
}

fn media_type(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    findings.inside(member, |findings, member| match member.key {
        "example" | "examples" => findings.text(member),
        "schema" => schemas::compare_member(findings, direction, member),
        _ => findings.other(member),
    });
}
