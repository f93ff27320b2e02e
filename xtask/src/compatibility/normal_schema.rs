//! The normal form of a schema: one object without `allOf` of one part, without keywords
//! that say what holds anyway.
//!
//! schemars writes a reference that has words of its own as `allOf` of one part. Of schemas
//! that are made of several, any change is breaking.
//!
//! Only the schema itself is brought into this form, not those inside it: the
//! comparison does so where it gets there.

use super::references::contents;
use serde_json::{Map, Value, json};

pub(super) type Schema = Map<String, Value>;

/// Nested deeper, or inside itself, `allOf` is taken as it is.
const MAX_DEPTH: usize = 32;

/// Whether a keyword says what holds anyway.
fn is_default(key: &str, value: &Value) -> bool {
    match key {
        "nullable" | "readOnly" | "writeOnly" | "deprecated" | "uniqueItems"
        | "exclusiveMinimum" | "exclusiveMaximum" => *value == json!(false),
        "minLength" | "minItems" | "minProperties" => *value == json!(0),
        "additionalProperties" | "items" => *value == json!(true) || *value == json!({}),
        "properties" => *value == json!({}),
        "required" => *value == json!([]),
        _ => false,
    }
}

/// Whether a keyword of the whole replaces that of its part.
fn is_annotation(key: &str) -> bool {
    ["$ref", "title", "description", "default", "example"].contains(&key) || key.starts_with("x-")
}

/// The normal form of a schema in a resolved document. `None` if it is no object.
pub(super) fn normal(document: &Value, schema: &Value) -> Option<Schema> {
    let mut own = contents(document, schema).as_object()?.clone();
    for _ in 0..MAX_DEPTH {
        let Some([part]) = own.get("allOf").and_then(Value::as_array).map(Vec::as_slice) else {
            break;
        };
        let Some(part) = contents(document, part).as_object().cloned() else { break };
        let is_other = |(key, value): (&String, &Value)| {
            !is_annotation(key) && own.get(key).is_some_and(|own| own != value)
        };
        if part.iter().any(is_other) {
            break;
        }
        own.shift_remove("allOf");
        for (key, value) in part {
            own.entry(key).or_insert(value);
        }
    }
    own.retain(|key, value| !is_default(key, value));
    if let Some(Value::Array(required)) = own.get_mut("required") {
        required.sort_by_key(Value::to_string);
        required.dedup();
    }
    Some(own)
}
