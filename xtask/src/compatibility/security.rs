//! How callers are let in.

use super::at::At;
use super::judge::Judge;
use super::members::Member;
use serde_json::{Value, json};

/// Judges what an operation asks for: a list of ways, any one of which will do.
/// No list, an empty list and an empty way all mean that no key is needed.
pub(super) fn judge_requirements(judge: &mut Judge, at: &At, old: &[Value], new: &[Value]) {
    let (old, new) = (ways(old), ways(new));
    for way in old.iter().filter(|way| !new.contains(way)) {
        judge.breaking(at, format!("no longer lets callers in by {way}"));
    }
    for way in new.iter().filter(|way| !old.contains(way)) {
        judge.addition(&At { name: names(way), ..at.clone() }, "is a new way to be let in");
    }
}

fn ways(list: &[Value]) -> Vec<Value> {
    if list.is_empty() { vec![json!({})] } else { list.to_vec() }
}

fn names(way: &Value) -> String {
    let names: Vec<_> = way.as_object().into_iter().flat_map(|schemes| schemes.keys()).collect();
    names.first().map_or("security".to_string(), |name| name.to_string())
}

/// Judges the schemes behind the names.
pub(super) fn judge_schemes(judge: &mut Judge, member: &Member<'_>) {
    let empty = json!({});
    let (old, new) = (member.old.unwrap_or(&empty), member.new.unwrap_or(&empty));
    judge.members(&member.at, old, new, |judge, member| {
        let at = At { name: member.key.to_string(), ..member.at.clone() };
        match (member.old, member.new) {
            (Some(old), Some(new)) => judge.members(&at, old, new, |judge, member| {
                match member.key {
                    // Of the form of the token: a hint for people.
                    "description" | "bearerFormat" => judge.text(member),
                    _ => judge.other(member),
                }
            }),
            (Some(_), None) => judge.breaking(&at, "is no longer a way to be let in"),
            // Whoever it lets in is said at the operations.
            _ => judge.neutral(&at, "is described"),
        }
    });
}
