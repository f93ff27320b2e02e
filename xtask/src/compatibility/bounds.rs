//! Bounds of numbers, texts, lists and objects: did the range grow or shrink.

use super::judge::{Direction, Judge, Shift};
use super::members::Member;
use serde_json::Value;
use std::cmp::Ordering;

const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

/// Whether a keyword of a schema bounds its values.
pub(super) fn is_bound(key: &str) -> bool {
    LOWER.contains(&key)
        || UPPER.contains(&key)
        || ["exclusiveMinimum", "exclusiveMaximum", "pattern", "multipleOf", "uniqueItems"]
            .contains(&key)
}

/// Judges a differing bound of two schemas.
pub(super) fn judge(
    judge: &mut Judge,
    direction: Direction,
    member: &Member<'_>,
    (old, new): (&Value, &Value),
) {
    let shift = match member.key {
        "pattern" | "multipleOf" => presence(member),
        "uniqueItems" => match member.flags() {
            (false, true) => Some(Shift::Narrower),
            (true, false) => Some(Shift::Wider),
            _ => None,
        },
        "exclusiveMinimum" | "exclusiveMaximum" if !is_flag(member) => Some(Shift::Other),
        // OpenAPI 3.0 has flags here, which belong to the bound beside them.
        "exclusiveMinimum" => {
            range(old, new, "minimum").filter(|_| old.get("minimum") == new.get("minimum"))
        }
        "exclusiveMaximum" => {
            range(old, new, "maximum").filter(|_| old.get("maximum") == new.get("maximum"))
        }
        key => range(old, new, key),
    };
    if let Some(shift) = shift {
        judge.shift(&member.at, direction, shift, member.turned());
    }
}

/// Later versions of OpenAPI have numbers where 3.0 has flags.
fn is_flag(member: &Member<'_>) -> bool {
    [member.old, member.new].into_iter().flatten().all(Value::is_boolean)
}

/// A condition that comes or goes; of one that changes nobody can tell.
fn presence(member: &Member<'_>) -> Option<Shift> {
    Some(match (member.old, member.new) {
        (None, _) => Shift::Narrower,
        (_, None) => Shift::Wider,
        _ => Shift::Other,
    })
}

fn range(old: &Value, new: &Value, key: &str) -> Option<Shift> {
    let upper = UPPER.contains(&key);
    let tighter = match (limit(old, key), limit(new, key)) {
        (None, None) => return None,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some((before, was_excluded)), Some((now, is_excluded))) => {
            let Some(order) = compare(now, before) else { return Some(Shift::Other) };
            let order = if upper { order.reverse() } else { order };
            order.then(is_excluded.cmp(&was_excluded))
        }
    };
    match tighter {
        Ordering::Greater => Some(Shift::Narrower),
        Ordering::Less => Some(Shift::Wider),
        Ordering::Equal => None,
    }
}

/// A bound and whether it is itself excluded. A least length of 0 bounds
/// nothing.
fn limit<'a>(schema: &'a Value, key: &str) -> Option<(&'a Value, bool)> {
    let bound = schema.get(key)?;
    let of_numbers = key == "minimum" || key == "maximum";
    if !of_numbers && LOWER.contains(&key) && *bound == 0 {
        return None;
    }
    let flag = if key == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
    Some((bound, of_numbers && schema.get(flag) == Some(&Value::Bool(true))))
}

/// Integers exactly, others as floating-point numbers.
fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    let integer =
        |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
