//! Parameters, which callers send, and headers, which they receive: in a
//! document both are described alike.

use super::at::At;
use super::content;
use super::judge::{Direction, Judge};
use super::members::Member;
use super::schemas;
use serde_json::Value;

/// The parameters of an operation: its own, and those of its path that it does
/// not replace.
pub(super) fn effective(of_path: Option<&Value>, own: Option<&Value>) -> Vec<Value> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let own = list(own);
    let inherited = list(of_path)
        .into_iter()
        .filter(|parameter| !own.iter().any(|other| identity(other) == identity(parameter)));
    inherited.chain(own.iter().cloned()).collect()
}

/// A parameter is known by where it stands and its name. Names of headers have
/// no letter case.
fn identity(parameter: &Value) -> (String, String) {
    let text = |key: &str| parameter[key].as_str().unwrap_or_default().to_string();
    match text("in").as_str() {
        "header" => ("header".to_string(), text("name").to_lowercase()),
        place => (place.to_string(), text("name")),
    }
}

/// Judges the parameters of an operation.
pub(super) fn judge(judge: &mut Judge, at: &At, old: &[Value], new: &[Value]) {
    let of = |parameter: &Value| {
        let (place, name) = identity(parameter);
        at.named(&format!("{place} {name}"), &name)
    };
    for parameter in old {
        match new.iter().find(|other| identity(other) == identity(parameter)) {
            Some(other) => described(judge, &of(parameter), Direction::Sent, parameter, other),
            None => judge.breaking(&of(parameter), "is no parameter any more"),
        }
    }
    for parameter in new {
        if old.iter().any(|other| identity(other) == identity(parameter)) {
            continue;
        }
        if parameter["required"] == true {
            judge.breaking(&of(parameter), "is a new parameter that must be sent");
        } else {
            judge.addition(&of(parameter), "is a new parameter that may be sent");
        }
    }
}

/// Judges two descriptions of one parameter or one header.
pub(super) fn described(
    judge: &mut Judge,
    at: &At,
    direction: Direction,
    old: &Value,
    new: &Value,
) {
    judge.members(at, old, new, |judge, member| match member.key {
        "description" | "example" | "examples" => judge.text(member),
        // The same but for the letter case of a header's name.
        "name" => judge.neutral(&member.at, "is written in another letter case"),
        "deprecated" => judge.deprecation(member),
        "required" if direction == Direction::Sent => requirement(judge, member),
        "required" => presence(judge, member),
        "schema" => match member.both() {
            Some((old, new)) => schemas::judge(judge, &member.at, direction, old, new),
            None => judge.breaking(&member.at, member.turned()),
        },
        "content" if direction == Direction::Sent => content::judge_sent(judge, member),
        "content" => content::judge_received(judge, member),
        _ => judge.other(member),
    });
}

/// Whether callers must send something.
pub(super) fn requirement(judge: &mut Judge, member: &Member<'_>) {
    match member.flags() {
        (false, true) => judge.breaking(&member.at, "must be sent now"),
        (true, false) => judge.addition(&member.at, "need not be sent any more"),
        _ => {}
    }
}

/// Whether callers can count on receiving something.
fn presence(judge: &mut Judge, member: &Member<'_>) {
    match member.flags() {
        (true, false) => judge.breaking(&member.at, "may be absent now"),
        (false, true) => judge.addition(&member.at, "is always there now"),
        _ => {}
    }
}
