//! Bounds of numbers, strings, arrays and objects: did the range grow or shrink.

use super::findings::{Direction, Findings, Shift};
use super::members::Member;
use serde_json::Value;
use std::cmp::Ordering;

const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];
const OTHER: [&str; 5] =
    ["exclusiveMinimum", "exclusiveMaximum", "pattern", "multipleOf", "uniqueItems"];

/// Whether a keyword of a schema bounds its values.
pub(super) fn is_bound(key: &str) -> bool {
    LOWER.contains(&key) || UPPER.contains(&key) || OTHER.contains(&key)
}

/// The tighter of two values of a bound, if the bound has an order.
pub(super) fn tighter<'a>(key: &str, left: &'a Value, right: &'a Value) -> Option<&'a Value> {
    let order = compare_numbers(left, right)?;
    let order = match (LOWER.contains(&key), UPPER.contains(&key)) {
        (true, _) => order.reverse(),
        (_, true) => order,
        _ => return None,
    };
    Some(if order.is_lt() { left } else { right })
}

/// Compares a differing bound of two schemas.
pub(super) fn compare(
    findings: &mut Findings,
    direction: Direction,
    member: &Member<'_>,
    (old, new): (&Value, &Value),
) {
    let same = |key: &str| old.get(key) == new.get(key);
    let shift = match member.key {
        "multipleOf" => Some(multiples(member)),
        "pattern" => Some(presence(member)),
        "uniqueItems" => match member.flags() {
            (false, true) => Some(Shift::Narrower),
            (true, false) => Some(Shift::Wider),
            _ => None,
        },
        "exclusiveMinimum" | "exclusiveMaximum" if !is_flag(member) => Some(Shift::Other),
        // OpenAPI 3.0 has flags here, which belong to the bound next to them.
        "exclusiveMinimum" => range(old, new, "minimum").filter(|_| same("minimum")),
        "exclusiveMaximum" => range(old, new, "maximum").filter(|_| same("maximum")),
        key => range(old, new, key),
    };
    if let Some(shift) = shift {
        findings.shift(&member.at, direction, shift, member.transition());
    }
}

/// Later versions of OpenAPI have numbers where 3.0 has flags.
fn is_flag(member: &Member<'_>) -> bool {
    [member.old, member.new].into_iter().flatten().all(Value::is_boolean)
}

/// Of a condition that changes, the effect is not decidable.
fn presence(member: &Member<'_>) -> Shift {
    match (member.old, member.new) {
        (None, _) => Shift::Narrower,
        (_, None) => Shift::Wider,
        _ => Shift::Other,
    }
}

/// Multiples of a number are multiples of its divisors.
fn multiples(member: &Member<'_>) -> Shift {
    let integers = member.both().and_then(|(old, new)| Some((old.as_u64()?, new.as_u64()?)));
    match integers {
        Some((old, new)) if new > 0 && old.is_multiple_of(new) => Shift::Wider,
        Some((old, new)) if old > 0 && new.is_multiple_of(old) => Shift::Narrower,
        _ => presence(member),
    }
}

fn range(old: &Value, new: &Value, key: &str) -> Option<Shift> {
    let upper = UPPER.contains(&key);
    let tighter = match (limit(old, key), limit(new, key)) {
        (None, None) => return None,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some((before, was_excluded)), Some((now, is_excluded))) => {
            let Some(order) = compare_numbers(now, before) else { return Some(Shift::Other) };
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

/// A bound, and whether it is itself excluded. A minimum length of 0 is none.
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
fn compare_numbers(left: &Value, right: &Value) -> Option<Ordering> {
    let integer =
        |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}
