//! How callers authenticate.

use super::findings::Findings;
use super::location::Location;
use super::members::Member;
use serde_json::{Map, Value};

/// Compares the requirements of an operation: a list of alternatives, of which
/// each names the schemes that are needed together. An absent
/// list, an empty list and an empty alternative all mean that no key is needed.
pub(super) fn compare_requirements(
    findings: &mut Findings,
    at: &Location,
    old: &[Value],
    new: &[Value],
) {
    let (old, new) = (alternatives(old), alternatives(new));
    for refused in old.iter().filter(|one| !new.iter().any(|other| suffices(one, other))) {
        let what = if refused.is_empty() { "requests without a key".into() } else { text(refused) };
        findings.breaking(at, format!("no longer accepts {what}"));
    }
    for added in new.iter().filter(|one| !old.iter().any(|other| asks_the_same(one, other))) {
        if old.iter().any(|other| suffices(other, added)) {
            let what = if added.is_empty() { "no key".into() } else { text(added) };
            findings.addition(at, format!("asks for less: {what}"));
        } else if let Some(scheme) = added.keys().next() {
            findings.addition(&at.named(scheme), "is a new way to authenticate");
        }
    }
}

type Alternative = Map<String, Value>;

fn alternatives(list: &[Value]) -> Vec<Alternative> {
    if list.is_empty() {
        return vec![Map::new()];
    }
    list.iter().filter_map(Value::as_object).cloned().collect()
}

fn text(alternative: &Alternative) -> String {
    Value::Object(alternative.clone()).to_string()
}

/// Whether what callers send for `given` is enough for `asked`.
fn suffices(given: &Alternative, asked: &Alternative) -> bool {
    asked.iter().all(|(scheme, scopes)| given.get(scheme) == Some(scopes))
}

fn asks_the_same(one: &Alternative, other: &Alternative) -> bool {
    suffices(one, other) && suffices(other, one)
}

/// Compares the security schemes behind the names.
pub(super) fn compare_schemes(findings: &mut Findings, member: &Member<'_>) {
    findings.inside(member, |findings, member| {
        let at = member.named();
        match (member.old, member.new) {
            (Some(old), Some(new)) => findings.members(&at, old, new, scheme),
            (Some(_), None) => findings.breaking(&at, "is no longer a way to authenticate"),
            // Operations that accept it report it.
            _ => findings.neutral(&at, "is described"),
        }
    });
}

fn scheme(findings: &mut Findings, member: &Member<'_>) {
    match member.key {
        "description" => findings.text(member),
        "bearerFormat" => key_form(findings, member),
        _ => findings.other(member),
    }
}

/// Callers store keys and recognise them by their form. A regular expression says
/// more than the words that stood there; of two of them neither is known to hold
/// the other.
fn key_form(findings: &mut Findings, member: &Member<'_>) {
    let is_pattern = |value: &Value| {
        value.as_str().is_some_and(|text| text.starts_with('^') && text.ends_with('$'))
    };
    match (member.old, member.new) {
        (None, _) => findings.addition(&member.at, "states the form of keys"),
        (Some(old), Some(new)) if !is_pattern(old) && is_pattern(new) => {
            findings.addition(&member.at, "states the form of keys for programs");
        }
        _ => findings.breaking(
            &member.at,
            format!("{}, which is another form of keys", member.transition()),
        ),
    }
}
