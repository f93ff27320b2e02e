//! Schemas made of schemas.

use super::judge::{Direction, Judge};
use super::members::Member;
use super::{Verdict, schemas};
use serde_json::Value;

/// `allOf` and `anyOf` grow and shrink with each of their schemas. Whether one
/// schema more or less makes a difference, nobody can tell.
pub(super) fn each(judge: &mut Judge, direction: Direction, member: &Member<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    match (list(member.old), list(member.new)) {
        (Some(old), Some(new)) if old.len() == new.len() => {
            for (position, (old, new)) in old.iter().zip(&new).enumerate() {
                schemas::judge(
                    judge,
                    &member.at.member(&position.to_string()),
                    direction,
                    old,
                    new,
                );
            }
        }
        _ => judge.breaking(&member.at, member.turned()),
    }
}

/// `oneOf` and `not` do not: only their words may change.
pub(super) fn unchanged(judge: &mut Judge, direction: Direction, member: &Member<'_>) {
    let mut within = Judge::default();
    match member.key {
        "not" => match member.both() {
            Some((old, new)) => schemas::judge(&mut within, &member.at, direction, old, new),
            None => within.breaking(&member.at, member.turned()),
        },
        _ => each(&mut within, direction, member),
    }
    match within.worst() {
        Some(Verdict::Neutral) | None => judge.take(within, |change| change),
        _ => judge.breaking(&member.at, member.turned()),
    }
}
