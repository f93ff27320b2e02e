//! Paths and operations: what callers can do.

use super::at::At;
use super::judge::Judge;
use super::members::Member;
use super::{content, parameters, responses, security, servers, stability};
use serde_json::{Map, Value, json};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Judges every path of two documents whose references have been followed.
pub(super) fn judge(judge: &mut Judge, published: &Value, document: &Value) {
    let empty = json!({});
    let paths = |document: &Value| document.get("paths").unwrap_or(&empty).clone();
    let at = At::document().member("paths");
    let (old, new) = (paths(published), paths(document));
    let names: Vec<&String> =
        keys(&old).chain(keys(&new).filter(|key| old.get(*key).is_none())).collect();
    for path in names {
        let (old, new) = (old.get(path).unwrap_or(&empty), new.get(path).unwrap_or(&empty));
        if path.starts_with("x-") {
            let (old, new) = (json!({ path: old }), json!({ path: new }));
            judge.members(&at, &old, &new, |judge, member| judge.other(member));
            continue;
        }
        let before = Item { document: published, path, item: old };
        let now = Item { document, path, item: new };
        path_item(judge, &at.named(path, path), &before, &now);
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
    /// What an operation asks for: its own word counts, else the document's.
    fn security(&self, operation: &Value) -> Vec<Value> {
        let own = operation.get("security").or_else(|| self.document.get("security"));
        own.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// The parameters of the path, unless the operation says otherwise.
    fn parameters(&self, operation: &Value) -> Vec<Value> {
        parameters::effective(self.item.get("parameters"), operation.get("parameters"))
    }
}

fn path_item(judge: &mut Judge, at: &At, before: &Item<'_>, now: &Item<'_>) {
    judge.members(at, before.item, now.item, |judge, member| match member.key {
        "summary" | "description" => judge.text(member),
        "parameters" => {}
        "servers" => own_servers(judge, member),
        method if METHODS.contains(&method) => {}
        _ => judge.other(member),
    });
    for method in METHODS {
        let name = |operation| name(before.path, method, operation);
        match (before.item.get(method), now.item.get(method)) {
            (Some(old), Some(new)) => {
                let mut of_this = Judge::default();
                operation(&mut of_this, &at.named(method, &name(old)), (before, old), (now, new));
                judge.take(of_this, |change| stability::weighed(old, change));
            }
            (Some(old), None) => {
                let mut of_this = Judge::default();
                of_this.breaking(&at.named(method, &name(old)), "is no longer offered");
                judge.take(of_this, |change| stability::weighed(old, change));
            }
            (None, Some(new)) => {
                judge.addition(&at.named(method, &name(new)), "is a new operation");
            }
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

fn operation(judge: &mut Judge, at: &At, before: (&Item<'_>, &Value), now: (&Item<'_>, &Value)) {
    let ((before, old), (now, new)) = (before, now);
    judge.members(at, old, new, |judge, member| match member.key {
        "summary" | "description" | "externalDocs" => judge.text(member),
        "operationId" => judge.breaking(
            &member.at,
            format!("{}, by which generated clients call it", member.turned()),
        ),
        "tags" => tags(judge, member),
        "deprecated" => judge.deprecation(member),
        "x-stability" => stability::judge(judge, member),
        "requestBody" => request_body(judge, member),
        "responses" => responses::judge(judge, member),
        "servers" => own_servers(judge, member),
        // Both depend on more than the operation; see below.
        "parameters" | "security" => {}
        _ => judge.other(member),
    });
    parameters::judge(
        judge,
        &at.member("parameters"),
        &before.parameters(old),
        &now.parameters(new),
    );
    security::judge_requirements(
        judge,
        &at.member("security"),
        &before.security(old),
        &now.security(new),
    );
}

/// Generated clients put an operation into a module of its tag's name.
fn tags(judge: &mut Judge, member: &Member<'_>) {
    judge.breaking(
        &member.at,
        format!("{}, which names the module of generated clients", member.turned()),
    );
}

/// Servers of a path or an operation replace the document's.
fn own_servers(judge: &mut Judge, member: &Member<'_>) {
    match member.both() {
        Some(_) => servers::judge(judge, member),
        None => judge.breaking(&member.at, "moves to another base address"),
    }
}

fn request_body(judge: &mut Judge, member: &Member<'_>) {
    let required = |body: &Value| body["required"] == true;
    match (member.old, member.new) {
        (Some(old), Some(new)) => {
            judge.members(&member.at, old, new, |judge, member| match member.key {
                "description" => judge.text(member),
                "required" => parameters::requirement(judge, member),
                "content" => content::judge_sent(judge, member),
                _ => judge.other(member),
            })
        }
        (None, Some(new)) if required(new) => judge.breaking(&member.at, "must be sent now"),
        (None, Some(_)) => judge.addition(&member.at, "may be sent now"),
        _ => judge.breaking(&member.at, "is no longer taken"),
    }
}
