//! Media types and their schemas.

use super::findings::{Direction, Findings};
use super::members::Member;
use super::schemas;

/// Compares the media types of a body. Callers who send are offered a new one;
/// callers who receive might be sent one that they cannot read.
pub(super) fn compare(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    findings.inside(member, |findings, member| match (member.old, member.new, direction) {
        (Some(_), Some(_), _) => media_type(findings, direction, member),
        (Some(_), None, _) => findings.breaking(&member.at, "is removed"),
        (None, _, Direction::Sent) => findings.addition(&member.named(), "is accepted too"),
        (None, _, Direction::Received) => {
            findings.breaking(&member.named(), "may be sent instead of what callers can read");
        }
    });
}

fn media_type(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    findings.inside(member, |findings, member| match member.key {
        "example" | "examples" => findings.text(member),
        "schema" => schemas::compare_member(findings, direction, member),
        _ => findings.other(member),
    });
}
