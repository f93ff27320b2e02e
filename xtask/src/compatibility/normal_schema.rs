//! The normal form of a schema: one object without `allOf`, without alternatives
//! of one, without keywords that say what holds anyway. Schemas that allow the
//! same values have the same normal form wherever that is easy to see.
//!
//! Only the schema itself is brought into this form, not those inside it: the
//! comparison does so where it gets there.

use super::bounds;
use super::references::contents;
use serde_json::{Map, Value, json};

pub(super) type Schema = Map<String, Value>;

/// Nested deeper, or inside itself, `allOf` is taken as it is.
const MAX_DEPTH: usize = 32;

/// A keyword, and whether a value of it says what holds anyway.
type Default = (&'static str, fn(&Value) -> bool);

const DEFAULTS: [Default; 15] = [
    ("nullable", is_false),
    ("readOnly", is_false),
    ("writeOnly", is_false),
    ("deprecated", is_false),
    ("uniqueItems", is_false),
    ("exclusiveMinimum", is_false),
    ("exclusiveMaximum", is_false),
    ("minLength", is_zero),
    ("minItems", is_zero),
    ("minProperties", is_zero),
    ("additionalProperties", allows_all),
    ("items", allows_all),
    ("properties", is_empty),
    ("required", is_empty),
    ("pattern", matches_all),
];

fn is_false(value: &Value) -> bool {
    *value == json!(false)
}

fn is_zero(value: &Value) -> bool {
    *value == json!(0)
}

fn is_empty(value: &Value) -> bool {
    *value == json!({}) || *value == json!([])
}

fn allows_all(value: &Value) -> bool {
    *value == json!(true) || *value == json!({})
}

fn matches_all(value: &Value) -> bool {
    ["", "^", "$", ".*", "^.*", ".*$", "^.*$"].iter().any(|pattern| value == pattern)
}

/// Whether a keyword is for people, or a mark of the part that it stands in.
pub(super) fn is_annotation(key: &str) -> bool {
    const ANNOTATIONS: [&str; 10] = [
        "$ref",
        "title",
        "description",
        "default",
        "example",
        "examples",
        "externalDocs",
        "xml",
        "readOnly",
        "writeOnly",
    ];
    ANNOTATIONS.contains(&key) || key == "deprecated" || key.starts_with("x-")
}

/// The normal form of a schema in a resolved document. `None` if it is no object.
pub(super) fn normal(document: &Value, schema: &Value) -> Option<Schema> {
    normal_at(document, schema, 0)
}

fn normal_at(document: &Value, schema: &Value, depth: usize) -> Option<Schema> {
    let mut own = contents(document, schema).as_object()?.clone();
    if depth < MAX_DEPTH {
        own = merged_parts(document, own, depth);
    }
    own.retain(|key, value| {
        !DEFAULTS.iter().any(|(name, is_default)| name == key && is_default(value))
    });
    if let Some(Value::Array(required)) = own.get_mut("required") {
        required.sort_by_key(Value::to_string);
        required.dedup();
    }
    Some(own)
}

/// A schema with its parts merged into it: those of `allOf`, and the only one of
/// `anyOf` and `oneOf`. Parts that cannot be merged stay in `allOf`.
fn merged_parts(document: &Value, mut own: Schema, depth: usize) -> Schema {
    let mut parts = Vec::new();
    for key in ["allOf", "anyOf", "oneOf"] {
        let list = own.get(key).and_then(Value::as_array);
        let Some(list) = list.filter(|list| key == "allOf" || list.len() == 1).cloned() else {
            continue;
        };
        let normal = |part: &Value| normal_at(document, part, depth + 1);
        let Some(normal) = list.iter().map(normal).collect::<Option<Vec<_>>>() else { return own };
        own.shift_remove(key);
        parts.extend(normal);
    }
    if parts.is_empty() {
        return own;
    }
    // Beside parts and without a type, clients read `nullable` as for the whole.
    let nullable = if own.contains_key("type") || !is_nullable(&own) {
        let typed: Vec<_> = parts.iter().chain([&own]).filter(|p| p.contains_key("type")).collect();
        !typed.is_empty() && typed.iter().all(|part| is_nullable(part))
    } else {
        true
    };
    let mut left = Vec::new();
    // The name of the only part is that of the whole.
    let name = parts.first().filter(|_| parts.len() == 1).and_then(|part| part.get("$ref"));
    if let Some(name) = name.filter(|_| !own.contains_key("$ref")).cloned() {
        own.insert("$ref".to_string(), name);
    }
    let notes: Schema = own
        .iter()
        .filter(|(key, _)| is_annotation(key))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    own.retain(|key, _| !is_annotation(key));
    parts.push(own);
    // Parts have no order.
    parts.sort_by_key(|part| Value::Object(part.clone()).to_string());
    let mut own = Schema::new();
    for mut part in parts {
        part.shift_remove("$ref");
        let (both, rest) = merged(&own, &part);
        own = both;
        if !rest.is_empty() {
            left.push(Value::Object(rest));
        }
    }
    // What the schema says of itself is said of the whole.
    own.extend(notes);
    own.shift_remove("nullable");
    if nullable {
        own.insert("nullable".to_string(), json!(true));
    }
    if !left.is_empty() {
        own.insert("allOf".to_string(), Value::Array(left));
    }
    own
}

fn is_nullable(schema: &Schema) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// One schema that allows what both allow, and what of the right one could not be
/// merged into it.
fn merged(left: &Schema, right: &Schema) -> (Schema, Schema) {
    let (mut both, mut right, mut rest) = (left.clone(), right.clone(), Schema::new());
    let mut apart = |right: &mut Schema, keys: &[&str]| {
        let taken = keys.iter().filter_map(|key| right.shift_remove_entry(*key));
        rest.extend(taken.collect::<Vec<_>>());
    };
    if !(sees_fields_of(left, &right) && sees_fields_of(&right, left)) {
        apart(&mut right, &["properties", "additionalProperties"]);
    }
    for keys in [["minimum", "exclusiveMinimum"], ["maximum", "exclusiveMaximum"]] {
        let has = |schema: &Schema, key: &str| schema.contains_key(key);
        let is_exclusive = keys.iter().any(|key| key.starts_with("ex") && has(left, key))
            || keys.iter().any(|key| key.starts_with("ex") && has(&right, key));
        let is_same = keys.iter().all(|key| left.get(*key) == right.get(*key));
        if is_exclusive && !is_same && keys.iter().any(|key| has(left, key)) {
            apart(&mut right, &keys);
        }
    }
    for (key, value) in right {
        match merged_keyword(&key, left, &value) {
            Some(value) => both.insert(key, value),
            None => rest.insert(key, value),
        };
    }
    (both, rest)
}

/// The value of a keyword that allows what it allows here and in `left`.
fn merged_keyword(key: &str, left: &Schema, value: &Value) -> Option<Value> {
    Some(match (key, left.get(key)) {
        (_, None) => value.clone(),
        (_, Some(other)) if other == value => value.clone(),
        // Decided for all parts together.
        ("nullable", Some(other)) => other.clone(),
        ("readOnly" | "writeOnly" | "deprecated", Some(other)) => {
            json!(*other == json!(true) || *value == json!(true))
        }
        (key, Some(other)) if is_annotation(key) => other.clone(),
        ("type", Some(other)) => common_type(other, value)?,
        ("required", Some(Value::Array(other))) => {
            other.iter().chain(value.as_array()?).cloned().collect()
        }
        ("properties", Some(Value::Object(other))) => properties(other, value.as_object()?),
        ("items", Some(other)) => json!({ "allOf": [other, value] }),
        ("enum", Some(Value::Array(other))) => {
            let new = value.as_array()?;
            other.iter().filter(|choice| new.contains(choice)).cloned().collect()
        }
        (key, Some(other)) => bounds::tighter(key, other, value)?.clone(),
    })
}

/// `additionalProperties` sees the fields of its own part alone.
fn sees_fields_of(schema: &Schema, other: &Schema) -> bool {
    let fields = |schema: &Schema| {
        let fields = schema.get("properties").and_then(Value::as_object);
        fields.into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>()
    };
    let own = fields(schema);
    !schema.contains_key("additionalProperties")
        || fields(other).iter().all(|field| own.contains(field))
}

fn common_type(left: &Value, right: &Value) -> Option<Value> {
    match (left.as_str()?, right.as_str()?) {
        ("integer", "number") | ("number", "integer") => Some(json!("integer")),
        _ => None,
    }
}

fn properties(left: &Schema, right: &Schema) -> Value {
    let mut both = left.clone();
    for (name, schema) in right {
        let schema = match left.get(name) {
            Some(other) if other != schema => json!({ "allOf": [other, schema] }),
            _ => schema.clone(),
        };
        both.insert(name.clone(), schema);
    }
    both.into()
}

/// Two normal forms, where of several values of a keyword that could not be
/// merged that stands first which the other side has.
pub(super) fn aligned(old: &Schema, new: &Schema) -> (Schema, Schema) {
    let (mut old, mut new) = (old.clone(), new.clone());
    align(&mut new, &old);
    align(&mut old, &new);
    (old, new)
}

fn align(schema: &mut Schema, other: &Schema) {
    let Some(Value::Array(mut rest)) = schema.get("allOf").cloned() else { return };
    for part in rest.iter_mut().filter_map(Value::as_object_mut).filter(|part| part.len() == 1) {
        for (key, value) in part.iter_mut() {
            let first = schema.get_mut(key).filter(|first| other.get(key) != Some(first));
            if let Some(first) = first.filter(|_| other.get(key) == Some(value)) {
                std::mem::swap(first, value);
            }
        }
    }
    schema.insert("allOf".to_string(), Value::Array(rest));
}
