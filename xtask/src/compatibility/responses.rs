//! Responses: which statuses may come, with which headers and bodies.

use super::at::At;
use super::judge::{Direction, Judge};
use super::members::{Member, differing};
use super::{content, parameters};
use serde_json::{Map, Value, json};

/// Judges the responses of an operation.
pub(super) fn judge(judge: &mut Judge, member: &Member<'_>) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| {
        if member.key.starts_with("x-") {
            return judge.other(member);
        }
        let at = At { name: member.key.to_string(), ..member.at.clone() };
        match (member.old, member.new) {
            (Some(before), Some(now)) => response(judge, &member.at, before, now),
            (Some(_), None) => judge.breaking(&at, "is no longer answered"),
            (None, Some(now)) => added(judge, &at, old, now),
            (None, None) => {}
        }
    });
}

/// A new status. Callers can live with a new error, which they treat as the
/// others of its kind; a new success, a redirection or `default`, which is any
/// of them, they may take for a failure.
fn added(judge: &mut Judge, at: &At, published: &Value, now: &Value) {
    let status = at.name.clone();
    match status.as_bytes() {
        [class @ (b'4' | b'5'), ..] => {
            judge.addition(at, "may be answered now");
            // So far the range spoke for it, if there was one.
            let range = format!("{}XX", char::from(*class));
            if let Some(before) = published.get(&range) {
                response(judge, at, before, now);
            }
        }
        _ => judge.breaking(at, "is answered now, which callers do not expect"),
    }
}

fn response(judge: &mut Judge, at: &At, old: &Value, new: &Value) {
    judge.members(at, old, new, |judge, member| match member.key {
        "description" => judge.text(member),
        "headers" => headers(judge, member),
        "content" => content::judge_received(judge, member),
        _ => judge.other(member),
    });
}

fn headers(judge: &mut Judge, member: &Member<'_>) {
    let (old, new) = (without_case(member.old), without_case(member.new));
    for header in differing(&member.at, &old, &new) {
        let at = member.at.named(header.key, header.key);
        match (header.old, header.new) {
            (Some(old), Some(new)) => {
                parameters::described(judge, &at, Direction::Received, old, new);
            }
            (Some(_), None) => judge.breaking(&at, "is no longer sent"),
            _ => judge.addition(&at, "is a new header"),
        }
    }
}

/// Headers by their names in lower case: they have no letter case.
fn without_case(headers: Option<&Value>) -> Map<String, Value> {
    let headers = headers.and_then(Value::as_object);
    headers
        .into_iter()
        .flatten()
        .map(|(name, header)| (name.to_lowercase(), header.clone()))
        .collect()
}
