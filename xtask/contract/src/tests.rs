//! Nothing of a document is dropped in silence: whatever is added to one, or left out of it, changes
//! the code or is refused.

use crate::json::parse;
use crate::node::Node;
use crate::pointer::take;
use crate::unformatted;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn shop() -> Value {
    parse(include_str!("../tests/shop/shop.json")).unwrap()
}

/// The code, or nothing if the document is refused.
fn code(document: &Value) -> Option<String> {
    unformatted(document, "shop.json", "x").ok()
}

/// The pointers to the values of a document that are its own, and not those of an example.
fn pointers(node: &Node<'_>) -> Vec<String> {
    let members = node.members().filter(|(key, _)| !["example", "value"].contains(key));
    let inner = members.map(|(_, member)| member).chain(node.elements());
    std::iter::once(node.pointer.clone()).chain(inner.flat_map(|inner| pointers(&inner))).collect()
}

/// What stands at a pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Schema,
    Parameter,
    Operation,
    Response,
    Media,
    Other,
}

fn kind(pointer: &str) -> Kind {
    let mut segments = pointer.rsplit('/');
    let (last, parent) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
    match (parent, last) {
        ("schemas" | "properties" | "oneOf" | "allOf", _) => Kind::Schema,
        (_, "schema" | "items" | "additionalProperties") => Kind::Schema,
        ("parameters", _) => Kind::Parameter,
        ("responses", _) => Kind::Response,
        ("content", _) => Kind::Media,
        (path, _) if path.starts_with("~1") && last != "parameters" => Kind::Operation,
        _ => Kind::Other,
    }
}

/// What may stand in each, and what OpenAPI does not know.
fn additions(kind: Kind) -> Value {
    let mut added = match kind {
        Kind::Schema => json!({
            "nullable": true, "discriminator": { "propertyName": "kind" }, "not": {}, "anyOf": [],
            "allOf": [], "oneOf": [], "multipleOf": 2, "minimum": 1, "maximum": 9,
            "exclusiveMinimum": true, "exclusiveMaximum": true, "minLength": 1, "maxLength": 9,
            "pattern": "^a$", "minItems": 1, "maxItems": 9, "uniqueItems": true,
            "minProperties": 1, "maxProperties": 9, "required": ["zz"], "enum": ["a"],
            "default": 1, "format": "zz", "properties": { "zz": { "type": "string" } },
            "items": { "type": "string" }, "additionalProperties": false, "readOnly": true,
            "writeOnly": true, "title": "T", "description": "D", "deprecated": true,
            "example": 1, "xml": {}, "externalDocs": { "url": "https://x" },
        }),
        Kind::Parameter => json!({
            "style": "simple", "explode": true, "allowReserved": true, "allowEmptyValue": true,
            "deprecated": true, "example": "a", "examples": {}, "content": {}, "description": "D",
            "required": true,
        }),
        Kind::Operation => json!({
            "callbacks": {}, "servers": [], "security": [{}], "externalDocs": { "url": "https://x" },
            "deprecated": true, "summary": "S", "description": "D", "tags": ["zz"],
            "requestBody": { "content": {} }, "parameters": [],
        }),
        Kind::Response => json!({
            "links": {}, "headers": { "X-Z": { "schema": { "type": "string" } } }, "content": {},
        }),
        Kind::Media => json!({ "example": 1, "examples": {}, "encoding": {} }),
        Kind::Other => json!({}),
    };
    added["x-zz"] = json!(1);
    added["zz"] = json!(1);
    added
}

/// What the generator tells places apart by: of several with the same, one is tried.
fn signature(pointer: &str, value: &Value) -> String {
    let parent = pointer.rsplit('/').nth(1).unwrap_or_default();
    let parent = if kind(pointer) == Kind::Operation { "path" } else { parent };
    let shape = ["$ref", "oneOf", "allOf", "enum", "properties", "additionalProperties", "content"];
    let shape = shape.map(|key| value.get(key).is_some());
    format!("{:?} {parent} {shape:?} {} {}", kind(pointer), value["type"], value["format"])
}

/// Those of these changes of the document, each with its place, that its code does not show. Each
/// core takes a part.
fn dropped(changes: &[(String, Value)]) -> Vec<String> {
    let unchanged = code(&shop()).unwrap();
    let is_dropped = |document| code(document).is_some_and(|code| code == unchanged);
    let parts = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|threads| {
        let parts = changes.chunks(changes.len().div_ceil(parts)).map(|part| {
            let dropped = part.iter().filter(|(_, document)| is_dropped(document));
            threads.spawn(|| dropped.map(|(place, _)| place.clone()).collect::<Vec<_>>())
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

#[test]
fn what_is_added_changes_the_code_or_is_refused() {
    let document = shop();
    let (mut changes, mut seen) = (Vec::new(), BTreeSet::new());
    for pointer in pointers(&Node::root(&document)) {
        // The names of these are free.
        let is_list_of_names = ["/properties", "/x-tiers"].iter().any(|end| pointer.ends_with(end));
        if is_list_of_names || !document.pointer(&pointer).unwrap().is_object() {
            continue;
        }
        if !seen.insert(signature(&pointer, document.pointer(&pointer).unwrap())) {
            continue;
        }
        for (key, value) in additions(kind(&pointer)).as_object().unwrap() {
            let mut changed = document.clone();
            let members = changed.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            if members.contains_key(key) {
                continue;
            }
            members.insert(key.clone(), value.clone());
            changes.push((format!("{pointer}/{key}"), changed));
        }
    }
    let dropped = dropped(&changes);
    assert!(dropped.is_empty(), "dropped:\n{}", dropped.join("\n"));
}

#[test]
fn what_is_left_out_changes_the_code_or_is_refused() {
    let document = shop();
    let mut changes = Vec::new();
    for pointer in pointers(&Node::root(&document)).into_iter().skip(1) {
        let mut changed = document.clone();
        take(&mut changed, &pointer).unwrap();
        changes.push((pointer, changed));
    }
    let dropped = dropped(&changes);
    assert!(dropped.is_empty(), "dropped:\n{}", dropped.join("\n"));
}
