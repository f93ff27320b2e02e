//! Schemas: what a value may be. Each keyword is judged by the direction in
//! which the value goes.

use super::at::At;
use super::bounds;
use super::composition;
use super::judge::{Direction, Judge, Shift};
use super::members::{Member, shown};
use serde_json::{Map, Value};

/// Judges two schemas of one value.
pub(super) fn judge(judge: &mut Judge, at: &At, direction: Direction, old: &Value, new: &Value) {
    judge.members(at, old, new, |judge, member| match member.key {
        "description" | "example" | "examples" | "externalDocs" => judge.text(member),
        "deprecated" => judge.deprecation(member),
        "nullable" => nullable(judge, direction, member),
        "properties" => properties(judge, direction, member, (old, new)),
        "required" => required(judge, direction, member, (old, new)),
        "additionalProperties" => further_properties(judge, direction, member),
        "items" => match member.both() {
            Some((old, new)) => self::judge(judge, &member.at, direction, old, new),
            None => judge.breaking(&member.at, member.turned()),
        },
        "enum" => choices(judge, direction, member),
        "allOf" | "anyOf" => composition::each(judge, direction, member),
        "oneOf" | "not" => composition::unchanged(judge, direction, member),
        "$ref" => judge.breaking(
            &member.at,
            format!("{}, which names a type of generated clients", member.turned()),
        ),
        key if bounds::is_bound(key) => bounds::judge(judge, direction, member, (old, new)),
        // Of these any change is one: a reader of the old value cannot read the
        // new one, and a generated client has another type.
        "type" | "format" | "title" | "default" => judge.breaking(&member.at, member.turned()),
        _ => judge.other(member),
    });
}

fn nullable(judge: &mut Judge, direction: Direction, member: &Member<'_>) {
    match member.flags() {
        (false, true) => judge.shift(&member.at, direction, Shift::Wider, "may be null now"),
        (true, false) => judge.shift(&member.at, direction, Shift::Narrower, "is never null now"),
        _ => {}
    }
}

fn properties(
    judge: &mut Judge,
    direction: Direction,
    member: &Member<'_>,
    (old, _): (&Value, &Value),
) {
    // Who was promised that there are no further fields may refuse a new one.
    let open = matches!(old.get("additionalProperties"), None | Some(Value::Bool(true)));
    let none = Value::Object(Map::new());
    let (before, now) = (member.old.unwrap_or(&none), member.new.unwrap_or(&none));
    judge.members(&member.at, before, now, |judge, member| {
        let at = At { name: member.key.to_string(), ..member.at.clone() };
        match (member.old, member.new, direction) {
            (Some(old), Some(new), _) => self::judge(judge, &at, direction, old, new),
            (Some(_), None, Direction::Received) => judge.breaking(&at, "is no longer sent"),
            (Some(_), None, Direction::Sent) => judge.breaking(&at, "is no longer taken"),
            (None, _, Direction::Received) if open => judge.addition(&at, "is a new field"),
            (None, _, Direction::Received) => judge.breaking(&at, "is a field that was ruled out"),
            (None, _, Direction::Sent) => judge.addition(&at, "is a field that may be sent now"),
        }
    });
}

fn required(
    judge: &mut Judge,
    direction: Direction,
    member: &Member<'_>,
    (old, new): (&Value, &Value),
) {
    let (before, now) = (texts(member.old), texts(member.new));
    let has = |schema: &Value, name: &str| schema["properties"].get(name).is_some();
    // Fields that came or went are reported as such.
    for name in before.iter().filter(|name| !now.contains(name) && has(new, name)) {
        let at = member.at.named(name, name);
        judge.shift(&at, direction, Shift::Wider, "may be absent now");
    }
    let came = |name: &str| direction == Direction::Received && !has(old, name);
    for name in now.iter().filter(|name| !before.contains(name) && !came(name)) {
        let at = member.at.named(name, name);
        judge.shift(&at, direction, Shift::Narrower, "must be there now");
    }
}

fn texts(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn further_properties(judge: &mut Judge, direction: Direction, member: &Member<'_>) {
    // How much is let through: nothing, what a schema describes, anything.
    let openness = |value: Option<&Value>| match value {
        Some(Value::Bool(false)) => 0,
        Some(Value::Object(members)) if !members.is_empty() => 1,
        _ => 2,
    };
    let shift = match (openness(member.old), openness(member.new)) {
        (1, 1) => {
            if let Some((old, new)) = member.both() {
                self::judge(judge, &member.at, direction, old, new);
            }
            return;
        }
        (old, new) if old < new => Shift::Wider,
        (old, new) if old > new => Shift::Narrower,
        _ => return,
    };
    judge.shift(&member.at, direction, shift, member.turned());
}

fn choices(judge: &mut Judge, direction: Direction, member: &Member<'_>) {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned();
    let (Some(old), Some(new)) = (list(member.old), list(member.new)) else {
        let shift = if member.old.is_some() { Shift::Wider } else { Shift::Narrower };
        return judge.shift(&member.at, direction, shift, member.turned());
    };
    for value in old.iter().filter(|value| !new.contains(value)) {
        let says = format!("no longer has the value {}", shown(Some(value)));
        judge.shift(&member.at, direction, Shift::Narrower, says);
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        let says = format!("has the new value {}", shown(Some(value)));
        judge.shift(&member.at, direction, Shift::Wider, says);
    }
}
