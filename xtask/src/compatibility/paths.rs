//! Paths and operations: what callers can do.

use super::findings::{Direction, Findings};
use super::location::Location;
use super::members::Member;
use super::operations::{METHODS, Operation, keys, template};
use super::{content, parameters, responses, security, stability, sunset};
use serde_json::{Value, json};

/// Compares every path of the documents.
pub(super) fn compare(findings: &mut Findings) {
    let compared = findings.compared.clone();
    let (old, new) = (compared.old.get("paths"), compared.new.get("paths"));
    let at = Location::document().member("paths");
    let empty = json!({});
    let same = |one: &str, other: &str| template(one) == template(other);
    for path in keys(old) {
        let before = (path.as_str(), old.and_then(|paths| paths.get(path)).unwrap_or(&empty));
        let now = keys(new).find(|other| *other == path || same(other, path));
        let now = now.and_then(|path| Some((path.as_str(), new?.get(path)?)));
        one_path(findings, &at, Some(before), now);
    }
    for path in keys(new).filter(|path| !keys(old).any(|other| same(other, path))) {
        let now = (path.as_str(), new.and_then(|paths| paths.get(path)).unwrap_or(&empty));
        one_path(findings, &at, None, Some(now));
    }
}

type Path<'a> = Option<(&'a str, &'a Value)>;

fn one_path<'a>(findings: &mut Findings, at: &Location, old: Path<'a>, new: Path<'a>) {
    let compared = findings.compared.clone();
    let empty = json!({});
    let (path, _) = new.or(old).unwrap_or(("", &empty));
    let member = Member {
        key: path,
        old: old.map(|(_, item)| item),
        new: new.map(|(_, item)| item),
        at: at.named_member(path, path),
    };
    if path.starts_with("x-") {
        if member.old != member.new {
            findings.other(&member);
        }
        return;
    }
    if let (Some((before, _)), Some((now, _))) = (old, new)
        && before != now
    {
        let description = format!("was {before}, which names arguments of generated clients");
        findings.breaking(&member.at, description);
    }
    findings.inside(&member, |findings, member| match member.key {
        "summary" | "description" => findings.text(member),
        method if METHODS.contains(&method) => {}
        _ => findings.other(member),
    });
    for method in METHODS {
        let before = old.and_then(|(path, item)| Operation::at(&compared.old, path, item, method));
        let now = new.and_then(|(path, item)| Operation::at(&compared.new, path, item, method));
        let Some(name) = before.as_ref().or(now.as_ref()).map(Operation::name) else { continue };
        let at = member.at.named_member(method, &name);
        match (before, now) {
            (Some(before), now) => published(findings, &at, &before, now.as_ref()),
            (None, _) => findings.addition(&at, "is a new operation"),
        }
    }
}

/// An operation that was published, and what it is now.
fn published(
    findings: &mut Findings,
    at: &Location,
    before: &Operation<'_>,
    now: Option<&Operation<'_>>,
) {
    let mut inside = findings.apart();
    match now {
        Some(now) => operation(&mut inside, at, before, now),
        None if sunset::has_passed(before.value, findings.compared.today) => {
            inside.addition(at, "is removed after its sunset");
        }
        None => inside.breaking(at, "is removed"),
    }
    if stability::is_unstable(before.value) {
        findings.extend(inside, stability::announced);
    } else {
        findings.extend(inside, |change| change);
    }
}

fn operation(findings: &mut Findings, at: &Location, old: &Operation<'_>, new: &Operation<'_>) {
    findings.members(at, old.value, new.value, |findings, member| match member.key {
        // The badge is drawn for people; x-stability is the promise.
        "summary" | "description" | "externalDocs" | "x-scalar-stability" => findings.text(member),
        "operationId" => findings.breaking(
            &member.at,
            format!("{}, which names the function of generated clients", member.transition()),
        ),
        "tags" => findings.breaking(
            &member.at,
            format!("{}, which names the module of generated clients", member.transition()),
        ),
        "deprecated" => findings.deprecation(member),
        "x-stability" => stability::compare(findings, member),
        "x-sunset" => sunset::compare(findings, member, new.value),
        "requestBody" => request_body(findings, member),
        "responses" => responses::compare(findings, member),
        // These depend on more than the operation; see below.
        "parameters" | "security" => {}
        _ => findings.other(member),
    });
    let at_parameters = at.member("parameters");
    parameters::compare(findings, &at_parameters, &old.parameters(), &new.parameters());
    let at_security = at.member("security");
    security::compare_requirements(findings, &at_security, &old.security(), &new.security());
}

fn request_body(findings: &mut Findings, member: &Member<'_>) {
    match (member.old, member.new) {
        (Some(_), Some(_)) => findings.inside(member, |findings, member| match member.key {
            "description" => findings.text(member),
            "required" => parameters::required(findings, Direction::Sent, member),
            "content" => content::compare(findings, Direction::Sent, member),
            _ => findings.other(member),
        }),
        (None, Some(new)) if new["required"] == true => {
            findings.breaking(&member.at, "must be sent");
        }
        (None, Some(_)) => findings.addition(&member.at, "may be sent"),
        _ => findings.breaking(&member.at, "is no longer accepted"),
    }
}
