//! Paths and operations: what callers can do.

use super::findings::{Direction, Findings};
use super::location::Location;
use super::members::Member;
use super::{content, parameters, responses, security, servers, stability};
use serde_json::{Map, Value, json};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Compares every path of two documents whose references are resolved.
pub(super) fn compare(findings: &mut Findings, published: &Value, document: &Value) {
    let empty = json!({});
    let paths = |document: &Value| document.get("paths").unwrap_or(&empty).clone();
    let at = Location::document().member("paths");
    let (old, new) = (paths(published), paths(document));
    for path in keys(&old).chain(keys(&new).filter(|key| old.get(*key).is_none())) {
        let (old, new) = (old.get(path).unwrap_or(&empty), new.get(path).unwrap_or(&empty));
        if path.starts_with("x-") {
            let (old, new) = (json!({ path: old }), json!({ path: new }));
            findings.members(&at, &old, &new, |findings, member| findings.other(member));
            continue;
        }
        let old = Item { document: published, path, item: old };
        let new = Item { document, path, item: new };
        path_item(findings, &at.named_member(path, path), &old, &new);
    }
}

/// What the changelog calls the operations of a document.
pub(super) fn names(document: &Value) -> Vec<String> {
    let paths = document.get("paths").and_then(Value::as_object);
    let operations = paths.into_iter().flatten().flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |method| Some(name(path, method, item.get(*method)?)))
    });
    operations.collect()
}

fn keys(object: &Value) -> impl Iterator<Item = &String> {
    object.as_object().into_iter().flat_map(Map::keys)
}

/// A path of a document.
struct Item<'a> {
    document: &'a Value,
    path: &'a str,
    item: &'a Value,
}

impl Item<'_> {
    /// The security of an operation, which overrides the document's.
    fn security(&self, operation: &Value) -> Vec<Value> {
        let own = operation.get("security").or_else(|| self.document.get("security"));
        own.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    fn parameters(&self, operation: &Value) -> Vec<Value> {
        parameters::effective(self.item.get("parameters"), operation.get("parameters"))
    }
}

fn path_item(findings: &mut Findings, at: &Location, old: &Item<'_>, new: &Item<'_>) {
    findings.members(at, old.item, new.item, |findings, member| match member.key {
        "summary" | "description" => findings.text(member),
        "parameters" => {}
        "servers" => own_servers(findings, member),
        method if METHODS.contains(&method) => {}
        _ => findings.other(member),
    });
    for method in METHODS {
        let at = |operation| at.named_member(method, &name(old.path, method, operation));
        match (old.item.get(method), new.item.get(method)) {
            (Some(before), now) => {
                let mut inside = Findings::default();
                match now {
                    Some(now) => operation(&mut inside, &at(before), (old, before), (new, now)),
                    None => inside.breaking(&at(before), "is removed"),
                }
                findings.extend(inside, |change| stability::weighed(before, change));
            }
            (None, Some(now)) => findings.addition(&at(now), "is a new operation"),
            (None, None) => {}
        }
    }
}

fn name(path: &str, method: &str, operation: &Value) -> String {
    match operation.get("operationId").and_then(Value::as_str) {
        Some(id) => id.to_string(),
        None => format!("{} {path}", method.to_uppercase()),
    }
}

fn operation(
    findings: &mut Findings,
    at: &Location,
    (old_item, old): (&Item<'_>, &Value),
    (new_item, new): (&Item<'_>, &Value),
) {
    findings.members(at, old, new, |findings, member| match member.key {
        "summary" | "description" | "externalDocs" => findings.text(member),
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
        "requestBody" => request_body(findings, member),
        "responses" => responses::compare(findings, member),
        "servers" => own_servers(findings, member),
        // Both depend on more than the operation; see below.
        "parameters" | "security" => {}
        _ => findings.other(member),
    });
    let (before, now) = (old_item.parameters(old), new_item.parameters(new));
    parameters::compare(findings, &at.member("parameters"), &before, &now);
    let (before, now) = (old_item.security(old), new_item.security(new));
    security::compare_requirements(findings, &at.member("security"), &before, &now);
}

/// Servers of a path or an operation override the document's.
fn own_servers(findings: &mut Findings, member: &Member<'_>) {
    match member.both() {
        Some(_) => servers::compare(findings, member),
        None => findings.breaking(&member.at, "moves to another base URL"),
    }
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
