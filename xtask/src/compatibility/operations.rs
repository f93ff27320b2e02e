//! Paths and operations: what callers can do, what they send and what they receive.

use super::findings::{Direction, Findings, Place};
use super::resolved::{METHODS, operation_name};
use super::{promises, schemas};
use codegen::pointer::component;
use serde_json::{Map, Value};

/// Compares the operations of all paths.
pub(super) fn compare(found: &mut Findings, paths: &Place<'_>) {
    found.each(paths, |found, path| {
        let path = path.named(path.key);
        found.each(&path, |found, member| match (METHODS.contains(&member.key), member.old) {
            // What the operations of a path share comes and goes with them.
            (false, _) if path.both().is_none() => {}
            (false, _) => found.other(member),
            (true, None) => {
                let name = member.new.map_or(path.key, |new| operation_name(new, path.key));
                found.addition(&member.named(name), "is a new operation");
            }
            (true, Some(old)) => {
                published(found, &member.named(operation_name(old, path.key)), old)
            }
        });
    });
}

/// An operation that was published, and what it is now.
fn published(found: &mut Findings, at: &Place<'_>, old: &Value) {
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

fn operation(found: &mut Findings, at: &Place<'_>, new: &Value) {
    found.each(at, |found, member| match member.key {
        // The badge is drawn for people, and so are samples; x-stability is the promise.
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

/// A parameter is identified by where it is sent and its name.
fn parameters(found: &mut Findings, at: &Place<'_>) {
    let by_identity = |list: Option<&Value>| -> Value {
        let parameters = list.and_then(Value::as_array).into_iter().flatten();
        let text =
            |parameter: &Value, key: &str| parameter[key].as_str().unwrap_or_default().to_string();
        let identity = |one: &Value| format!("{} {}", text(one, "in"), text(one, "name"));
        Value::Object(parameters.map(|one| (identity(one), one.clone())).collect())
    };
    let (old, new) = (by_identity(at.old), by_identity(at.new));
    let mut known = old.as_object().into_iter().flatten();
    let had_optional = known.any(|(_, parameter)| parameter["required"] != true);
    found.each(&at.with(Some(&old), Some(&new)), |found, member| {
        let at = member.part(member.key.split_once(' ').map_or("", |(_, name)| name));
        match (at.old, at.new) {
            (Some(_), Some(_)) => value(found, &at, Direction::Sent),
            (Some(_), _) => found.breaking(&at, "is no longer a parameter"),
            (_, Some(new)) if new["required"] == true => {
                found.breaking(&at, "is a new required parameter");
            }
            _ if had_optional => found.addition(&at, "is a new optional parameter"),
            _ => found.addition(
                &at,
                "is the first optional parameter: the method of the Rust client becomes a builder, \
                 so that the client's major version rises",
            ),
        }
    });
}

/// A parameter, which callers send, or a header, which they receive: a document describes both in
/// one way.
fn value(found: &mut Findings, at: &Place<'_>, direction: Direction) {
    found.each(at, |found, member| match member.key {
        "description" | "example" | "examples" => found.text(member),
        "deprecated" => found.deprecation(member),
        "required" => required(found, member, direction),
        "schema" if member.both().is_some() => schemas::compare(found, member, direction),
        _ => found.other(member),
    });
}

/// Whether something must be sent, or is always received.
fn required(found: &mut Findings, at: &Place<'_>, direction: Direction) {
    found.flag(at, ("is required", direction.fewer()), ("is optional", direction.more()));
}

/// A list of alternatives, of which each names the schemes that are needed together. An empty
/// list and an empty alternative both mean that no key is needed.
fn security(found: &mut Findings, at: &Place<'_>) {
    let alternatives = |list: Option<&Value>| -> Vec<Map<String, Value>> {
        let list = list.and_then(Value::as_array).filter(|list| !list.is_empty());
        list.map_or(vec![Map::new()], |list| {
            list.iter().filter_map(Value::as_object).cloned().collect()
        })
    };
    let (old, new) = (alternatives(at.old), alternatives(at.new));
    let is_enough = |given: &Map<String, Value>| {
        let is_given = |(scheme, scopes): (&String, &Value)| given.get(scheme) == Some(scopes);
        new.iter().any(|asked| asked.iter().all(is_given))
    };
    match old.iter().find(|given| !is_enough(given)) {
        Some(refused) => {
            let refused = Value::Object(refused.clone());
            found.breaking(at, format!("no longer accepts {refused}"));
        }
        None if new.iter().any(|asked| !old.contains(asked)) => {
            found.addition(at, "accepts more ways to authenticate");
        }
        None => {}
    }
}

fn request_body(found: &mut Findings, at: &Place<'_>) {
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        "required" => required(found, member, Direction::Sent),
        "content" => content(found, member, Direction::Sent, Findings::text),
        _ => found.other(member),
    });
}

/// Whether an operation now takes `If-None-Match` and did not before: no caller of the published
/// document sends it.
fn becomes_conditional(at: &Place<'_>) -> bool {
    let takes_it = |operation: Option<&Value>| {
        let parameters = operation.and_then(|operation| operation["parameters"].as_array());
        parameters.into_iter().flatten().any(|one| {
            let name = one["name"].as_str().unwrap_or_default();
            one["in"] == "header" && name.eq_ignore_ascii_case("If-None-Match")
        })
    };
    takes_it(at.new) && !takes_it(at.old)
}

/// Statuses. Callers handle a new error like the others of its class; a new success or a redirect
/// they may take for a failure, but for a 304 that only who sends the new `If-None-Match` gets.
fn responses(found: &mut Findings, responses: &Place<'_>, becomes_conditional: bool) {
    found.each(responses, |found, status| {
        let at = status.part(status.key);
        let is_error = at.key.starts_with(['4', '5']);
        match (at.old, at.new) {
            (Some(_), Some(_)) if is_error => response(found, &at, codes),
            (Some(_), Some(_)) => response(found, &at, Findings::text),
            (Some(_), _) => found.breaking(&at, "is no longer a response"),
            _ if at.key == "304" && becomes_conditional => {
                found.addition(&at, "is a new response to who sends If-None-Match");
            }
            _ if !is_error => {
                found.breaking(&at, "is a new response that callers do not expect");
            }
            _ => {
                found.addition(&at, "is a new error");
                // Until now a wider response may have described it.
                let range = at.key.get(..1).map(|class| format!("{class}XX"));
                let range = range.and_then(|range| responses.old?.get(&range));
                match range.or_else(|| responses.old?.get("default")) {
                    // The wider response keeps its other codes.
                    Some(wider) => {
                        response(found, &at.with(Some(wider), at.new), Findings::text);
                    }
                    None => found.each(&at, |found, member| {
                        if member.key == "content" {
                            found.each(member, error_body);
                        }
                    }),
                }
            }
        }
    });
}

/// How examples of a body count: as text, or as the codes of an operation.
type ExamplesRule = fn(&mut Findings, &Place<'_>);

fn response(found: &mut Findings, at: &Place<'_>, examples: ExamplesRule) {
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        "headers" => found.each(member, header),
        "content" => content(found, member, Direction::Received, examples),
        "x-outcome" | "x-outcome-after-retry" => outcome(found, member),
        _ => found.other(member),
    });
}

/// The body of a new error: callers read each error as `Error`.
fn error_body(found: &mut Findings, media_type: &Place<'_>) {
    let is_error = media_type.key == "application/json"
        && media_type.new.and_then(|new| component(new.get("schema")?)) == Some("Error");
    if !is_error {
        let at = media_type.part(media_type.key);
        found.breaking(&at, "is a new body that is not the `Error` of other errors");
    }
}

/// Examples of an error are the operation's codes, each named by its code.
fn codes(found: &mut Findings, examples: &Place<'_>) {
    found.each(examples, |found, code| {
        let at = code.part(code.key);
        match (at.old, at.new) {
            (None, _) => found.addition(&at, "is a new code"),
            (_, None) => found.breaking(&at, "is no longer a code"),
            _ => found.each(&at, |found, member| match member.key {
                "value" => found.each(member, |found, member| match member.key {
                    "code" | "status" => found.other(member),
                    _ => found.text(member),
                }),
                _ => found.text(member),
            }),
        }
    });
}

/// Which outcome of a call a response is: clients return it under this name.
fn outcome(found: &mut Findings, at: &Place<'_>) {
    if at.old.is_none() {
        return found.addition(at, "is an outcome that clients return");
    }
    found.each(at, |found, member| match member.key {
        "description" => found.text(member),
        _ => found.other(member),
    });
}

/// A shared header is known by its name alone.
fn header(found: &mut Findings, header: &Place<'_>) {
    let shared = header.component().map(|name| header.named(name));
    let at = shared.unwrap_or_else(|| header.part(header.key));
    match (at.old, at.new) {
        (Some(_), Some(_)) => value(found, &at, Direction::Received),
        (Some(_), _) => found.breaking(&at, "is no longer sent"),
        _ => found.addition(&at, "is a new header"),
    }
}

fn content(found: &mut Findings, at: &Place<'_>, direction: Direction, examples: ExamplesRule) {
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
