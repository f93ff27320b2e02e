//! Compares the top level of documents, and the schemas and security schemes in `components`.

use super::findings::{ComparedPlace, Findings};
use super::resolved::all_operations;
use super::{operations, promises};
use codegen::pointer::COMPONENT;
use semver::Version;
use serde_json::Value;

pub(super) fn compare(found: &mut Findings, documents: &ComparedPlace<'_>) {
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
            // Changes of `servers` are not breaking if all published operations were unstable,
            // because the published document then promised nothing about `servers`.
            if promises::all_unstable(published) {
                found.announce_since(count);
            }
        }
        "paths" => operations::compare(found, member),
        "components" => components(found, member, published),
        // `resolve_operations` has copied `security` to each operation, where it is compared.
        "security" => {}
        "tags" | "externalDocs" => found.text(member),
        _ => found.other(member),
    });
}

/// Compares `info`. Of the known members, only `x-plans` is a promise to callers.
fn info(found: &mut Findings, member: &ComparedPlace<'_>) {
    match member.key {
        "version" => {}
        "title" | "summary" | "description" | "termsOfService" | "contact" | "license" => {
            found.text(member);
        }
        "x-plans" => promises::plans(found, member),
        _ => found.other(&member.named(member.key)),
    }
}

/// Returns the major and minor version of OpenAPI. Omits the patch version, because patch versions
/// only clarify the text of the specification.
fn minor(version: Option<&Value>) -> Option<(u64, u64)> {
    let version = Version::parse(version?.as_str()?).ok()?;
    Some((version.major, version.minor))
}

/// Compares the base URLs, with each variable replaced by its default. Without the defaults,
/// production and staging would have the same URL.
fn servers(found: &mut Findings, at: &ComparedPlace<'_>) {
    let by_url = |list: Option<&Value>| -> Value {
        let servers = list.and_then(Value::as_array).into_iter().flatten();
        Value::Object(servers.map(|server| (url(server), server.clone())).collect())
    };
    let (old, new) = (by_url(at.old), by_url(at.new));
    found.each(&at.with(Some(&old), Some(&new)), |found, server| {
        let place = server.named(server.key);
        match (place.old, place.new) {
            (Some(_), Some(_)) => found.each(&place, server_member),
            (Some(_), _) => found.breaking(&place, "is no longer a base URL"),
            _ => found.addition(&place, "is a new base URL"),
        }
    });
    let first = |servers: &Value| servers.as_object().and_then(|all| all.keys().next().cloned());
    if first(&old) != first(&new) {
        found.breaking(at, "begins with another URL, which tools take for the default");
    }
}

pub fn url(server: &Value) -> String {
    let mut url = server["url"].as_str().unwrap_or_default().to_string();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let default = variable["default"].as_str().unwrap_or_default();
        url = url.replace(&format!("{{{name}}}"), default);
    }
    url
}

fn server_member(found: &mut Findings, member: &ComparedPlace<'_>) {
    match member.key {
        "description" => found.text(member),
        "variables" => found.each(member, |found, variable| {
            compare_rewordable(found, &variable.part(variable.key));
        }),
        _ => found.other(member),
    }
}

/// Reports removed schemas, because generated clients name types after schemas. Also compares
/// security schemes.
fn components(found: &mut Findings, components: &ComparedPlace<'_>, published: &Value) {
    found.each(components, |found, member| match member.key {
        "schemas" => found.each(member, |found, schema| {
            if schema.new.is_none() {
                report_removed_schema(found, &schema.schema(schema.key), published);
            }
        }),
        "securitySchemes" => found.each(member, |found, scheme| {
            let place = scheme.named(scheme.key);
            match (place.old, place.new) {
                (Some(_), Some(_)) => compare_rewordable(found, &place),
                (Some(_), _) => found.breaking(&place, "is no longer a way to authenticate"),
                // Neutral, because the comparison of operations reports an addition if operations
                // accept the new scheme.
                _ => found.neutral(&place, "is described"),
            }
        }),
        // These components are compared in the operations that use them.
        "responses" | "headers" | "parameters" | "requestBodies" | "examples" => {}
        _ => found.other(member),
    });
}

/// Compares an object in which only the description may change.
fn compare_rewordable(found: &mut Findings, at: &ComparedPlace<'_>) {
    if at.both().is_none() {
        return found.breaking(at, at.transition());
    }
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        _ => found.other(member),
    });
}

/// Reports a removed schema. The removal is breaking if an operation that used the schema must
/// still be served. If no operation used the schema, the removal is breaking too, because generated
/// clients lose a type.
fn report_removed_schema(found: &mut Findings, at: &ComparedPlace<'_>, published: &Value) {
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
