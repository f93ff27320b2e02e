//! `x-stability`: how much an operation promises.

use super::judge::Judge;
use super::members::Member;
use super::{Change, Verdict};
use serde_json::Value;

/// The promise of an operation, if it says one that is known.
fn rank(value: Option<&Value>) -> Option<u8> {
    match value?.as_str()? {
        "experimental" => Some(0),
        "beta" => Some(1),
        "stable" => Some(2),
        _ => None,
    }
}

/// A promise may grow; one that shrinks is broken.
pub(super) fn judge(judge: &mut Judge, member: &Member<'_>) {
    match (rank(member.old), rank(member.new)) {
        (Some(old), Some(new)) if new > old => judge.addition(&member.at, member.turned()),
        _ => judge.breaking(&member.at, member.turned()),
    }
}

/// A change of an operation that was published like this: one that promised
/// nothing may change in any way, and callers are to hear of it.
pub(super) fn weighed(operation: &Value, change: Change) -> Change {
    match rank(operation.get("x-stability")) {
        Some(0 | 1) if change.verdict == Verdict::Breaking => {
            Change { verdict: Verdict::Addition, ..change }
        }
        _ => change,
    }
}
