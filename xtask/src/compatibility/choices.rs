//! Lists of values: `enum`, which is complete, and `x-extensible-enum`, which
//! lists those that programs may know while others may follow.

use super::findings::{Direction, Findings, Shift};
use super::members::{Member, shorten};
use super::normal_schema::Schema;
use serde_json::Value;

fn list(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}

/// Compares the values of `enum`.
pub(super) fn compare(findings: &mut Findings, direction: Direction, member: &Member<'_>) {
    let (Some(old), Some(new)) = (list(member.old), list(member.new)) else {
        let shift = if member.old.is_some() { Shift::Wider } else { Shift::Narrower };
        return findings.shift(&member.at, direction, shift, member.transition());
    };
    for value in old.iter().filter(|value| !new.contains(value)) {
        let description = format!("no longer has the value {}", shorten(Some(value)));
        findings.shift(&member.at, direction, Shift::Narrower, description);
    }
    for value in new.iter().filter(|value| !old.contains(value)) {
        let description = format!("has the new value {}", shorten(Some(value)));
        findings.shift(&member.at, direction, Shift::Wider, description);
    }
}

/// Compares the values of `x-extensible-enum`: in both directions each is a
/// promise, and a new one is announced. An `enum` of them promises no less.
pub(super) fn compare_known(findings: &mut Findings, member: &Member<'_>, new: &Schema) {
    let empty = Vec::new();
    let (Some(old), now) = (list(member.old), list(member.new).or(list(new.get("enum")))) else {
        let description = "lists its values for programs";
        return findings.addition(&member.at, description);
    };
    let now = now.unwrap_or(&empty);
    for value in old.iter().filter(|value| !now.contains(value)) {
        let text = shorten(Some(value));
        let at = member.at.named(value.as_str().unwrap_or(&text));
        findings.breaking(&at, format!("is no longer a value of {}", member.at.name));
    }
    for value in now.iter().filter(|value| !old.contains(value)) {
        let text = shorten(Some(value));
        let at = member.at.named(value.as_str().unwrap_or(&text));
        findings.addition(&at, format!("is a new value of {}", member.at.name));
    }
}
