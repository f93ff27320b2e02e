//! `x-stability`: how much an operation promises. Without it, an operation is
//! stable.

use super::change::{Change, Verdict};
use super::findings::Findings;
use super::members::Member;
use super::operations::Operation;
use serde_json::Value;

fn rank(value: Option<&Value>) -> Option<u8> {
    match value {
        None => Some(2),
        Some(value) => match value.as_str()? {
            "experimental" => Some(0),
            "beta" => Some(1),
            "stable" => Some(2),
            _ => None,
        },
    }
}

/// An operation may become more stable, never less. To write `stable` out is a
/// promise more, to erase it one less.
pub(super) fn compare(findings: &mut Findings, member: &Member<'_>) {
    match (rank(member.old), rank(member.new)) {
        (Some(old), Some(new)) if new > old || (new == old && member.old.is_none()) => {
            findings.addition(&member.at, member.transition());
        }
        _ => findings.breaking(&member.at, format!("{}: less is promised", member.transition())),
    }
}

/// Whether an operation as it was published promised nothing.
pub(super) fn is_unstable(operation: &Value) -> bool {
    matches!(rank(operation.get("x-stability")), Some(0 | 1))
}

/// Whether no operation of a document promised anything.
pub(super) fn all_unstable(document: &Value) -> bool {
    let all = Operation::all(document);
    !all.is_empty() && all.iter().all(|operation| is_unstable(operation.value))
}

/// The change as it counts where nothing was promised: callers have to hear of it.
pub(super) fn announced(change: Change) -> Change {
    match change.verdict {
        Verdict::Breaking => Change { verdict: Verdict::Addition, ..change },
        _ => change,
    }
}
