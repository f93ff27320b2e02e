//! Compares paths and operations, with their parameters, request bodies and responses.

use super::findings::{ComparedPlace, Direction, Findings};
use super::resolved::{METHODS, operation_name};
use super::{promises, schemas};
use codegen::pointer::component;
use serde_json::{Map, Value};

pub(super) fn compare(found: &mut Findings, paths: &ComparedPlace<'_>) {
    found.each(paths, |found, path| {
        let path = path.named(path.key);
        found.each(&path, |found, member| match (METHODS.contains(&member.key), member.old) {
            // If the path was added or removed, skip its keys that are not methods, such as
            // `parameters`. The report of its added or removed operations is enough.
            (false, _) if path.both().is_none() => {}
            (false, _) => found.other(member),
            (true, None) => {
                let name = member.new.map_or(path.key, |new| operation_name(new, path.key));
                found.addition(&member.named(name), "is a new operation");
            }
            (true, Some(old)) => {
                compare_published(found, &member.named(operation_name(old, path.key)), old)
            }
        });
    });
}

fn compare_published(found: &mut Findings, at: &ComparedPlace<'_>, old: &Value) {
    let count = found.changes.len();
    match at.new {
        Some(new) => operation(found, at, new),
        None if promises::sunset_has_passed(old, found.today) => {
            found.addition(at, "is removed after its sunset");
        }
        None => found.breaking(at, "is removed"),
    }
    if promises::is_unstable(old) {
        found.announce_since(count);
    }
}

fn operation(found: &mut Findings, at: &ComparedPlace<'_>, new: &Value) {
    found.each(at, |found, member| match member.key {
        // Changes of these fields are neutral, because only people read them. `x-scalar-stability`
        // only affects the reference page. The promise to callers is `x-stability`, which has its
        // own rule below.
        "summary" | "description" | "externalDocs" | "x-scalar-stability" | "x-codeSamples" => {
            found.text(member);
        }
        "operationId" | "tags" => {
            let description = format!("{}, which generated clients show", member.transition());
            found.breaking(member, description);
        }
        "deprecated" => found.deprecation(member),
        "x-stability" => promises::stability(found, member),
        "x-sunset" => promises::sunset(found, member, new),
        "parameters" => parameters(found, member),
        "security" => security(found, member),
        "requestBody" if member.both().is_some() => request_body(found, member),
        "responses" => responses(found, member, becomes_conditional(at)),
        _ => found.other(member),
    });
}

/// Compares parameters, which are identified by their location and name.
fn parameters(found: &mut Findings, at: &ComparedPlace<'_>) {
    let by_identity = |list: Option<&Value>| -> Value {
        let parameters = list.and_then(Value::as_array).into_iter().flatten();
        let text =
            |parameter: &Value, key: &str| parameter[key].as_str().unwrap_or_default().to_string();
        let identity = |one: &Value| format!("{} {}", text(one, "in"), text(one, "name"));
        Value::Object(parameters.map(|one| (identity(one), one.clone())).collect())
    };
    let (old, new) = (by_identity(at.old), by_identity(at.new));
    let mut published = old.as_object().into_iter().flatten();
    let had_optional = published.any(|(_, parameter)| parameter["required"] != true);
    found.each(&at.with(Some(&old), Some(&new)), |found, member| {
        let place = member.part(member.key.split_once(' ').map_or("", |(_, name)| name));
        match (place.old, place.new) {
            (Some(_), Some(_)) => compare_value(found, &place, Direction::Sent),
            (Some(_), _) => found.breaking(&place, "is no longer a parameter"),
            (_, Some(new)) if new["required"] == true => {
                found.breaking(&place, "is a new required parameter");
            }
            _ if had_optional => found.addition(&place, "is a new optional parameter"),
            _ => found.addition(
                &place,
                "is the first optional parameter: the method of the Rust client becomes a builder, \
                 so that the client's major version rises",
            ),
        }
    });
}

/// Compares a parameter or a header; both have the same members.
fn compare_value(found: &mut Findings, at: &ComparedPlace<'_>, direction: Direction) {
    found.each(at, |found, member| match member.key {
        "description" | "example" | "examples" => found.text(member),
        "deprecated" => found.deprecation(member),
        "required" => required(found, member, direction),
        "schema" if member.both().is_some() => schemas::compare(found, member, direction),
        _ => found.other(member),
    });
}

/// Compares `required`. A value that callers send must not become required. A value that callers
/// receive must not become optional.
fn required(found: &mut Findings, at: &ComparedPlace<'_>, direction: Direction) {
    found.flag(at, ("is required", direction.fewer()), ("is optional", direction.more()));
}

/// Compares `security`, a list of alternatives. All schemes of an alternative are required
/// together. An empty list or an empty alternative requires no authentication.
fn security(found: &mut Findings, at: &ComparedPlace<'_>) {
    let alternatives = |list: Option<&Value>| -> Vec<Map<String, Value>> {
        let list = list.and_then(Value::as_array).filter(|list| !list.is_empty());
        list.map_or(vec![Map::new()], |list| {
            list.iter().filter_map(Value::as_object).cloned().collect()
        })
    };
    let (old, new) = (alternatives(at.old), alternatives(at.new));
    let is_accepted = |sent: &Map<String, Value>| {
        let is_sent = |(scheme, scopes): (&String, &Value)| sent.get(scheme) == Some(scopes);
        new.iter().any(|required| required.iter().all(is_sent))
    };
    match old.iter().find(|sent| !is_accepted(sent)) {
        Some(refused) => {
            let refused = Value::Object(refused.clone());
            found.breaking(at, format!("no longer accepts {refused}"));
        }
        None if new.iter().any(|alternative| !old.contains(alternative)) => {
            found.addition(at, "accepts more ways to authenticate");
        }
        None => {}
    }
}

fn request_body(found: &mut Findings, at: &ComparedPlace<'_>) {
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        "required" => required(found, member, Direction::Sent),
        "content" => content(found, member, Direction::Sent, Findings::text),
        _ => found.other(member),
    });
}

/// True if `If-None-Match` is a new parameter of the operation. A new 304 then breaks no existing
/// program, because none sends this header.
fn becomes_conditional(at: &ComparedPlace<'_>) -> bool {
    let takes_it = |operation: Option<&Value>| {
        let parameters = operation.and_then(|operation| operation["parameters"].as_array());
        parameters.into_iter().flatten().any(|one| {
            let name = one["name"].as_str().unwrap_or_default();
            one["in"] == "header" && name.eq_ignore_ascii_case("If-None-Match")
        })
    };
    takes_it(at.new) && !takes_it(at.old)
}

/// Compares responses. A new error is an addition, because callers handle it like other errors of
/// its class. A new success or redirect is breaking, because callers may treat it as a failure. A
/// new 304 is an addition if the parameter `If-None-Match` is also new, because no caller sends it
/// yet.
fn responses(found: &mut Findings, responses: &ComparedPlace<'_>, becomes_conditional: bool) {
    found.each(responses, |found, status| {
        let place = status.part(status.key);
        let is_error = place.key.starts_with(['4', '5']);
        match (place.old, place.new) {
            (Some(_), Some(_)) if is_error => response(found, &place, codes),
            (Some(_), Some(_)) => response(found, &place, Findings::text),
            (Some(_), _) => found.breaking(&place, "is no longer a response"),
            _ if place.key == "304" && becomes_conditional => {
                found.addition(&place, "is a new response to who sends If-None-Match");
            }
            _ if !is_error => {
                found.breaking(&place, "is a new response that callers do not expect");
            }
            _ => {
                found.addition(&place, "is a new error");
                // Compare the new error with a published response such as `4XX` or `default`,
                // because callers rely on that response.
                let range = place.key.get(..1).map(|class| format!("{class}XX"));
                let range = range.and_then(|range| responses.old?.get(&range));
                match range.or_else(|| responses.old?.get("default")) {
                    Some(wider) => {
                        response(found, &place.with(Some(wider), place.new), codes_under_wider);
                    }
                    None => found.each(&place, |found, member| {
                        if member.key == "content" {
                            found.each(member, error_body);
                        }
                    }),
                }
            }
        }
    });
}

/// A rule that compares the examples of a body. An error's examples are named after error codes, so
/// removing one is breaking. A change of other examples is only a change of text.
type ExamplesRule = fn(&mut Findings, &ComparedPlace<'_>);

fn response(found: &mut Findings, at: &ComparedPlace<'_>, examples: ExamplesRule) {
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        "headers" => found.each(member, header),
        "content" => content(found, member, Direction::Received, examples),
        "x-outcome" | "x-outcome-after-retry" => outcome(found, member),
        _ => found.other(member),
    });
}

/// Checks the body of a new error. Callers parse every error as `Error`, so any other body is a
/// breaking change.
fn error_body(found: &mut Findings, media_type: &ComparedPlace<'_>) {
    let is_error = media_type.key == "application/json"
        && media_type.new.and_then(|new| component(new.get("schema")?)) == Some("Error");
    if !is_error {
        let place = media_type.part(media_type.key);
        found.breaking(&place, "is a new body that is not the `Error` of other errors");
    }
}

/// Compares the examples of an error response. The key of an example is an error code.
fn codes(found: &mut Findings, examples: &ComparedPlace<'_>) {
    found.each(examples, |found, code| {
        let place = code.part(code.key);
        match (place.old, place.new) {
            (None, _) => found.addition(&place, "is a new code"),
            (_, None) => found.breaking(&place, "is no longer a code"),
            _ => found.each(&place, |found, member| match member.key {
                "value" => found.each(member, |found, member| match member.key {
                    "code" | "status" => found.other(member),
                    _ => found.text(member),
                }),
                _ => found.text(member),
            }),
        }
    });
}

/// Compares the codes of a new error with those of a published response such as `4XX` or `default`.
/// The new error may lack codes of that response, because the response covers several statuses.
fn codes_under_wider(found: &mut Findings, examples: &ComparedPlace<'_>) {
    found.each(examples, |found, code| {
        let place = code.part(code.key);
        match place.old {
            None => found.addition(&place, "is a new code"),
            Some(_) => found.text(&place),
        }
    });
}

/// Compares `x-outcome` or `x-outcome-after-retry`. Both tell generated clients which result a
/// response means.
fn outcome(found: &mut Findings, at: &ComparedPlace<'_>) {
    if at.old.is_none() {
        return found.addition(at, "is an outcome that clients return");
    }
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        _ => found.other(member),
    });
}

/// Compares a response header. If the header is in `components`, the changelog names no operation,
/// because several operations may share the header.
fn header(found: &mut Findings, header: &ComparedPlace<'_>) {
    let shared = header.component().map(|name| header.named(name));
    let place = shared.unwrap_or_else(|| header.part(header.key));
    match (place.old, place.new) {
        (Some(_), Some(_)) => compare_value(found, &place, Direction::Received),
        (Some(_), _) => found.breaking(&place, "is no longer sent"),
        _ => found.addition(&place, "is a new header"),
    }
}

fn content(
    found: &mut Findings,
    at: &ComparedPlace<'_>,
    direction: Direction,
    examples: ExamplesRule,
) {
    found.each(at, |found, media_type| match media_type.both() {
        None => found.breaking(&media_type.part(media_type.key), media_type.transition()),
        Some(_) => found.each(media_type, |found, member| match member.key {
            "example" => found.text(member),
            "examples" => examples(found, member),
            "schema" => schemas::compare(found, member, direction),
            _ => found.other(member),
        }),
    });
}
