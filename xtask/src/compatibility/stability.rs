//! `x-stability`: how much an operation promises.

use super::change::{Change, Verdict};
use super::findings::Findings;
use super::members::Member;
use serde_json::Value;

fn rank(value: Option<&Value>) -> Option<u8> {
    match value?.as_str()? {
        "experimental" => Some(0),
        "beta" => Some(1),
        "stable" => Some(2),
        _ => None,
    }
}

/// An operation may become more stable, never less.
pub(super) fn compare(findings: &mut Findings, member: &Member<'_>) {
    match (rank(member.old), rank(member.new)) {
        (Some(old), Some(new)) if new > old => findings.addition(&member.at, member.transition()),
        _ => findings.breaking(&member.at, member.transition()),
    }
}

/// The change as it counts for an operation that was published like this: a
/// beta or experimental one promised nothing, but callers have to hear of it.
pub(super) fn weighed(published: &Value, change: Change) -> Change {
    match rank(published.get("x-stability")) {
        Some(0 | 1) if change.verdict == Verdict::Breaking => {
            Change { verdict: Verdict::Addition, ..change }
        }
        _ => change,
    }
}
