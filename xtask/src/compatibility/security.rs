//! How callers authenticate.

use super::findings::Findings;
use super::location::Location;
use super::members::Member;
use serde_json::{Value, json};

/// Compares the requirements of an operation: a list of alternatives. An absent
/// list, an empty list and an empty alternative all mean that no key is needed.
pub(super) fn compare_requirements(
    findings: &mut Findings,
    at: &Location,
    old: &[Value],
    new: &[Value],
) {
    let (old, new) = (alternatives(old), alternatives(new));
    for removed in old.iter().filter(|one| !new.contains(one)) {
        findings.breaking(at, format!("no longer accepts {removed}"));
    }
    for added in new.iter().filter(|one| !old.contains(one)) {
        let at = Location { name: scheme_name(added), ..at.clone() };
        findings.addition(&at, "is a new way to authenticate");
    }
}

fn alternatives(list: &[Value]) -> Vec<Value> {
    if list.is_empty() { vec![json!({})] } else { list.to_vec() }
}

fn scheme_name(alternative: &Value) -> String {
    let first = alternative.as_object().and_then(|schemes| schemes.keys().next());
    first.cloned().unwrap_or("security".to_string())
}

/// Compares the security schemes behind the names.
pub(super) fn compare_schemes(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| {
        let at = member.named();
        match (member.old, member.new) {
            (Some(old), Some(new)) => findings.members(&at, old, new, |findings, member| {
                match member.key {
                    // The form of the token is a hint for people.
                    "description" | "bearerFormat" => findings.text(member),
                    _ => findings.other(member),
                }
            }),
            (Some(_), None) => findings.breaking(&at, "is no longer a way to authenticate"),
            // Operations that accept it report it.
            _ => findings.neutral(&at, "is described"),
        }
    });
}
