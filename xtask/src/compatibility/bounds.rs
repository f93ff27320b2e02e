//! Bounds of numbers, strings, arrays and objects: did the range grow or shrink.

use super::findings::{Direction, Findings, Shift};
use super::members::Member;
use serde_json::Value;
use std::cmp::Ordering;

const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

/// Whether a keyword of a schema is a bound whose values have an order, or a pattern.
pub(super) fn is_bound(key: &str) -> bool {
    LOWER.contains(&key) || UPPER.contains(&key) || key == "pattern"
}

/// Compares a differing bound of two schemas.
pub(super) fn compare(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let shift = match (member.old, member.new) {
        (None, _) => Shift::Narrower,
        (_, None) => Shift::Wider,
        (Some(old), Some(new)) => match compare_numbers(new, old) {
            Some(Ordering::Equal) => return,
            Some(order) if (order == Ordering::Greater) == UPPER.contains(&member.key) => {
                Shift::Wider
            }
            Some(_) => Shift::Narrower,
            // Of a pattern that changes, the effect is not decidable.
            None => Shift::Other,
        },
    };
    findings.shift(&member.at, direction, shift, member.transition());
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
