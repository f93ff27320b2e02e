//! What dropshot cannot hold of a document: everything else of it comes from the types.

use crate::node::Node;
use crate::text::is_summary;
use serde_json::{Map, Value};

/// The methods that a path may have.
pub const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Whether a key of a schema says nothing of its values: it is carried as a fact.
pub fn is_schema_fact(key: &str) -> bool {
    let texts = ["title", "example", "externalDocs", "deprecated", "readOnly", "writeOnly", "xml"];
    key.starts_with("x-") || texts.contains(&key)
}

/// The facts of this document, in its own shape.
pub fn facts(root: &Node<'_>) -> Value {
    let facts = each(root, |key, member| match key {
        "info" => each(member, |key, member| (key != "title").then(|| copy(member))),
        "paths" => each(member, |_, path| each(path, path_facts)),
        "components" => each(member, |key, member| match key {
            "schemas" => each(member, |_, schema| schema_facts(schema)),
            _ => Some(copy(member)),
        }),
        _ => Some(copy(member)),
    });
    facts.unwrap_or_default()
}

fn path_facts(key: &str, member: &Node<'_>) -> Option<Value> {
    if !METHODS.contains(&key) {
        return Some(copy(member));
    }
    let documented = primary_success(member).map(|(status, _)| status);
    each(member, |key, part| match key {
        "operationId" => None,
        "summary" if part.value.as_str().is_some_and(is_summary) => None,
        "tags" if *part.value != Value::Array(Vec::new()) => None,
        "deprecated" if *part.value == true => None,
        "parameters" => parameter_facts(part),
        "requestBody" => message_facts(part, "required"),
        "responses" => each(part, |status, response| match documented {
            Some(documented) if documented == status => message_facts(response, "description"),
            _ => Some(copy(response)),
        }),
        _ => Some(copy(part)),
    })
}

/// What a message has besides this member and the schema of its JSON.
fn message_facts(message: &Node<'_>, derived: &str) -> Option<Value> {
    each(message, |key, member| match key {
        "content" => each(member, |kind, media| match kind {
            "application/json" => each(media, |key, member| match key {
                "schema" => schema_facts(member),
                _ => Some(copy(member)),
            }),
            _ => Some(copy(media)),
        }),
        _ => (key != derived).then(|| copy(member)),
    })
}

/// The facts of the parameters, in their places; none if no parameter has any.
fn parameter_facts(parameters: &Node<'_>) -> Option<Value> {
    let facts: Vec<_> = parameters
        .elements()
        .map(|parameter| {
            each(&parameter, |key, member| match key {
                "in" | "name" | "description" => None,
                "required" if *member.value == true => None,
                "schema" => schema_facts(member),
                _ => Some(copy(member)),
            })
        })
        .collect();
    if !facts.is_empty() && facts.iter().all(Option::is_none) {
        return None;
    }
    Some(facts.into_iter().map(|facts| facts.unwrap_or(Value::Object(Map::new()))).collect())
}

/// The facts of a schema, and of those in it.
fn schema_facts(schema: &Node<'_>) -> Option<Value> {
    each(schema, |key, member| match key {
        "properties" => each(member, |_, property| schema_facts(property)),
        "items" | "additionalProperties" => schema_facts(member),
        _ => is_schema_fact(key).then(|| copy(member)),
    })
}

/// The success that dropshot documents: the one of the lowest status.
pub fn primary_success<'a>(operation: &Node<'a>) -> Option<(&'a str, Node<'a>)> {
    let responses = operation.get("responses")?;
    let successes = responses.members().filter(|(status, _)| status.starts_with('2'));
    successes.filter(|(status, _)| status.parse::<u16>().is_ok()).min_by_key(|(status, _)| *status)
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
