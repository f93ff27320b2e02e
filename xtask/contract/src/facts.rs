//! What dropshot cannot hold of a document: everything else of it comes from the types.

use crate::node::Node;
use crate::text::is_summary;
use serde_json::{Map, Value};

/// The methods that a path may have.
pub const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Where parameters may be, in the order in which dropshot emits them.
pub const PLACES: [&str; 3] = ["path", "query", "header"];

/// Whether a key of a schema says nothing of its values: it is carried as a fact.
pub fn is_schema_fact(key: &str) -> bool {
    let texts = ["title", "example", "externalDocs", "deprecated", "readOnly", "writeOnly", "xml"];
    key.starts_with("x-") || texts.contains(&key)
}

/// The facts of this document, in its own shape.
pub fn facts(root: &Node<'_>) -> Value {
    let facts = each(root, |key, member| match key {
        "info" => each(member, |key, member| (key != "title").then(|| copy(member))),
        "paths" => each(member, |name, path| match name.starts_with("x-") {
            true => Some(copy(path)),
            false => each(path, |key, part| path_facts(path, key, part)),
        }),
        "components" => each(member, |key, member| match key {
            "schemas" => each(member, |_, schema| schema_facts(schema)),
            _ => Some(copy(member)),
        }),
        _ => Some(copy(member)),
    });
    facts.unwrap_or_default()
}

fn path_facts(path: &Node<'_>, key: &str, member: &Node<'_>) -> Option<Value> {
    if !METHODS.contains(&key) {
        return Some(copy(member));
    }
    let documented = primary_success(member).map(|(status, _)| status);
    each(member, |key, part| match key {
        "operationId" => None,
        "summary" if part.value.as_str().is_some_and(is_summary) => None,
        "tags" if *part.value != Value::Array(Vec::new()) => None,
        "deprecated" if *part.value == true => None,
        "parameters" => parameters(path, part),
        "requestBody" if is_json(part) => message_facts(part),
        "responses" => each(part, |status, response| match documented {
            Some(documented) if documented == status && response.text("$ref").is_none() => {
                message_facts(response)
            }
            _ => Some(copy(response)),
        }),
        _ => Some(copy(part)),
    })
}

/// What a message has besides the schema of its JSON, and a response besides its description.
fn message_facts(message: &Node<'_>) -> Option<Value> {
    let is_response = message.pointer.contains("/responses/");
    each(message, |key, member| match key {
        "content" if member.members().next().is_none() => Some(copy(member)),
        "content" => each(member, |kind, media| match kind {
            "application/json" => each(media, |key, member| match key {
                "schema" => schema_facts(member),
                _ => Some(copy(member)),
            }),
            _ => Some(copy(media)),
        }),
        _ => (key != "description" || !is_response).then(|| copy(member)),
    })
}

/// Whether a body is JSON alone: dropshot documents it then.
pub fn is_json(body: &Node<'_>) -> bool {
    let content = body.get("content");
    let mut kinds = content.iter().flat_map(Node::members).map(|(kind, _)| kind);
    kinds.next() == Some("application/json") && kinds.next().is_none()
}

/// The facts of the parameters of an operation, and their order unless it is that of the places.
fn parameters(path: &Node<'_>, list: &Node<'_>) -> Option<Value> {
    let all: Vec<_> = list.elements().collect();
    let place = |node: &Node<'_>| PLACES.iter().position(|place| node.text("in") == Some(place));
    let is_derived =
        |node: &Node<'_>| node.text("$ref").is_none() && parameter_facts(node).is_none();
    if !all.is_empty()
        && path.get("parameters").is_none()
        && all.is_sorted_by_key(place)
        && all.iter().all(is_derived)
    {
        return None;
    }
    let facts = |parameter: &Node<'_>| match parameter.text("$ref") {
        Some(_) => copy(parameter),
        None => {
            let known = ["in", "name"].into_iter();
            let known = known.filter_map(|key| Some((key.to_string(), copy(&parameter.get(key)?))));
            let facts = parameter_facts(parameter);
            let facts = facts.and_then(|facts| facts.as_object().cloned()).unwrap_or_default();
            Value::Object(known.chain(facts).collect())
        }
    };
    Some(all.iter().map(facts).collect())
}

fn parameter_facts(parameter: &Node<'_>) -> Option<Value> {
    each(parameter, |key, member| match key {
        "in" | "name" | "description" => None,
        "required" if *member.value == true => None,
        "schema" => facts_with_default(member),
        _ => Some(copy(member)),
    })
}

fn is_required(schema: &Node<'_>, name: &str) -> bool {
    schema.get("required").iter().flat_map(Node::elements).any(|required| required.value == name)
}

/// Dropshot does not show the default of a parameter.
fn facts_with_default(schema: &Node<'_>) -> Option<Value> {
    let facts = schema_facts(schema);
    let Some(default) = schema.get("default") else { return facts };
    let mut members = facts.and_then(|facts| facts.as_object().cloned()).unwrap_or_default();
    members.insert("default".to_string(), copy(&default));
    Some(Value::Object(members))
}

/// The facts of elements, in their places; none if no element has any.
fn list(node: &Node<'_>, facts: impl Fn(&Node<'_>) -> Option<Value>) -> Option<Value> {
    let facts: Vec<_> = node.elements().map(|element| facts(&element)).collect();
    if !facts.is_empty() && facts.iter().all(Option::is_none) {
        return None;
    }
    Some(facts.into_iter().map(|facts| facts.unwrap_or(Value::Object(Map::new()))).collect())
}

/// The facts of a schema, and of those in it.
fn schema_facts(schema: &Node<'_>) -> Option<Value> {
    each(schema, |key, member| match key {
        // Schemars shows no default of a member that is required.
        "properties" => each(member, |name, property| match is_required(schema, name) {
            true => facts_with_default(property),
            false => schema_facts(property),
        }),
        "items" | "additionalProperties" => schema_facts(member),
        "oneOf" => list(member, schema_facts),
        _ => is_schema_fact(key).then(|| copy(member)),
    })
}

/// The success that dropshot documents: the one of the lowest status, or `default` alone.
pub fn primary_success<'a>(operation: &Node<'a>) -> Option<(&'a str, Node<'a>)> {
    let responses = operation.get("responses")?;
    let of_class = |class: char| {
        let is_of = |status: &str| status.starts_with(class) && status.parse::<u16>().is_ok();
        let of_class = responses.members().filter(|(status, _)| is_of(status));
        of_class.min_by_key(|(status, _)| *status)
    };
    let found = of_class('2').or_else(|| of_class('3'));
    found.or_else(|| responses.get("default").map(|response| ("default", response)))
}

fn copy(node: &Node<'_>) -> Value {
    node.value.clone()
}

/// The facts of the members; none if no member has any.
fn each(node: &Node<'_>, facts: impl Fn(&str, &Node<'_>) -> Option<Value>) -> Option<Value> {
    let members = node.members();
    let facts: Map<_, _> =
        members.filter_map(|(key, member)| Some((key.to_string(), facts(key, &member)?))).collect();
    (!facts.is_empty()).then_some(Value::Object(facts))
}
