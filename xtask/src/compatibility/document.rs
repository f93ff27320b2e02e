//! The top level of a document, with what is known by name outside of operations.

use super::findings::{Findings, Place};
use super::resolved::all_operations;
use super::{operations, promises};
use codegen::pointer::COMPONENT;
use semver::Version;
use serde_json::Value;

/// Compares every part in which two resolved documents differ.
pub(super) fn compare(found: &mut Findings, documents: &Place<'_>) {
    let nothing = Value::Null;
    let published = documents.old.unwrap_or(&nothing);
    found.each(documents, |found, member| match member.key {
        "info" => found.each(member, info),
        "openapi" if minor(member.old).is_some() && minor(member.old) == minor(member.new) => {
            found.neutral(member, "is a patch version of the same OpenAPI");
        }
        "servers" => {
            let count = found.changes.len();
            servers(found, member);
            // Where no operation promised anything, nor did its servers.
            if promises::all_unstable(published) {
                found.announce_since(count);
            }
        }
        "paths" => operations::compare(found, member),
        "components" => components(found, member, published),
        // Every operation has it.
        "security" => {}
        "tags" | "externalDocs" => found.text(member),
        _ => found.other(member),
    });
}

/// The plans are a promise, the rest but the version is for people.
fn info(found: &mut Findings, member: &Place<'_>) {
    match member.key {
        "version" => {}
        "title" | "summary" | "description" | "termsOfService" | "contact" | "license" => {
            found.text(member);
        }
        "x-plans" => promises::plans(found, member),
        _ => found.other(&member.named(member.key)),
    }
}

/// Patch versions of OpenAPI only clarify; another minor version needs other tools.
fn minor(version: Option<&Value>) -> Option<(u64, u64)> {
    let version = Version::parse(version?.as_str()?).ok()?;
    Some((version.major, version.minor))
}

/// Base URLs. A server is identified by its URL with the defaults of its variables filled in,
/// because two may share one template.
fn servers(found: &mut Findings, at: &Place<'_>) {
    let by_url = |list: Option<&Value>| -> Value {
        let servers = list.and_then(Value::as_array).into_iter().flatten();
        Value::Object(servers.map(|server| (url(server), server.clone())).collect())
    };
    let (old, new) = (by_url(at.old), by_url(at.new));
    found.each(&at.with(Some(&old), Some(&new)), |found, server| {
        let at = server.named(server.key);
        match (at.old, at.new) {
            (Some(_), Some(_)) => found.each(&at, server_member),
            (Some(_), _) => found.breaking(&at, "is no longer a base URL"),
            _ => found.addition(&at, "is a new base URL"),
        }
    });
    let first = |servers: &Value| servers.as_object().and_then(|all| all.keys().next().cloned());
    if first(&old) != first(&new) {
        found.breaking(at, "begins with another URL, which tools take for the default");
    }
}

/// The URL of a server with the defaults of its variables.
pub fn url(server: &Value) -> String {
    let mut url = server["url"].as_str().unwrap_or_default().to_string();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = variable["default"].as_str().unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    url
}

fn server_member(found: &mut Findings, member: &Place<'_>) {
    match member.key {
        "description" => found.text(member),
        "variables" => found.each(member, |found, variable| {
            described(found, &variable.part(variable.key));
        }),
        _ => found.other(member),
    }
}

/// Callers know two kinds by name: schemas, which name types of generated clients, and security
/// schemes.
fn components(found: &mut Findings, components: &Place<'_>, published: &Value) {
    found.each(components, |found, member| match member.key {
        "schemas" => found.each(member, |found, schema| {
            if schema.new.is_none() {
                removed_schema(found, &schema.schema(schema.key), published);
            }
        }),
        "securitySchemes" => found.each(member, |found, scheme| {
            let at = scheme.named(scheme.key);
            match (at.old, at.new) {
                (Some(_), Some(_)) => described(found, &at),
                (Some(_), _) => found.breaking(&at, "is no longer a way to authenticate"),
                // Operations that accept it report it.
                _ => found.neutral(&at, "is described"),
            }
        }),
        // Compared where they are used.
        "responses" | "headers" | "parameters" | "requestBodies" | "examples" => {}
        _ => found.other(member),
    });
}

/// What may only be reworded.
fn described(found: &mut Findings, at: &Place<'_>) {
    if at.both().is_none() {
        return found.breaking(at, at.transition());
    }
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        _ => found.other(member),
    });
}

/// A schema goes with its operations, if all of them may go.
fn removed_schema(found: &mut Findings, at: &Place<'_>, published: &Value) {
    let reference = format!("\"{COMPONENT}\":\"#/components/schemas/{}\"", at.key);
    let users = all_operations(published).into_iter().map(|(_, operation)| operation);
    let users: Vec<_> =
        users.filter(|operation| operation.to_string().contains(&reference)).collect();
    let must_stay = |operation: &&Value| promises::must_stay(operation, found.today);
    if !users.is_empty() && !users.iter().any(must_stay) {
        found.addition(at, "is removed with the operations that used it");
    } else {
        found.breaking(at, "is removed, and with it a type of generated clients");
    }
}
