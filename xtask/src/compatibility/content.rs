//! Media types and what stands in them.

use super::at::At;
use super::judge::{Direction, Judge};
use super::members::Member;
use super::schemas;
use serde_json::{Value, json};

/// What callers may send: more media types are an offer.
pub(super) fn judge_sent(judge: &mut Judge, member: &Member<'_>) {
    media_types(judge, member, Direction::Sent, |judge, at| {
        judge.addition(at, "is taken too now");
    });
}

/// What callers receive: a caller who never chose might be sent the new one.
pub(super) fn judge_received(judge: &mut Judge, member: &Member<'_>) {
    media_types(judge, member, Direction::Received, |judge, at| {
        judge.breaking(at, "may come instead of what callers can read");
    });
}

fn media_types(
    judge: &mut Judge,
    member: &Member<'_>,
    direction: Direction,
    added: impl Fn(&mut Judge, &At),
) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| match (member.old, member.new) {
        (Some(old), Some(new)) => media_type(judge, &member.at, direction, old, new),
        (Some(_), None) => judge.breaking(&member.at, "is gone"),
        _ => added(judge, &At { name: member.key.to_string(), ..member.at.clone() }),
    });
}

fn media_type(judge: &mut Judge, at: &At, direction: Direction, old: &Value, new: &Value) {
    judge.members(at, old, new, |judge, member| match member.key {
        "example" | "examples" => judge.text(member),
        "schema" => match member.both() {
            Some((old, new)) => schemas::judge(judge, &member.at, direction, old, new),
            None => judge.breaking(&member.at, member.turned()),
        },
        _ => judge.other(member),
    });
}
