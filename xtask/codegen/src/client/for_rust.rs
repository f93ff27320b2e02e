//! The document as progenitor reads it: identifiers and extensible enums are types of their own,
//! operations have their one success alone, and what only the server enforces is left out.

use crate::names::pascal;
use crate::subset::PATH;
use heck::ToUpperCamelCase;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The document for progenitor, and the types that it names.
pub struct ForRust {
    pub document: Value,
    /// The names of the schemas that are identifiers: each kind, such as `OrderId`, is one, so
    /// that progenitor makes a newtype of it.
    pub identifiers: Vec<String>,
    /// The extensible enums, to which properties and parameters refer as to schemas.
    pub enums: Vec<String>,
}

/// Bounds, which the server checks: a client that did would break when one is widened.
const BOUNDS: [&str; 7] =
    ["minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"];

/// Formats that progenitor has a type for.
const TYPED_FORMATS: [&str; 4] = ["int32", "int64", "date", "date-time"];

/// The schema of the body of errors, whose code is a text with a method by hand.
pub const ERROR: &str = "Error";

/// An extensible enum that a property is.
struct ExtensibleEnum {
    /// The name of its type.
    name: String,
    /// The name of the property, by which parameters are found that have its values.
    property: String,
    schema: Value,
}

pub fn for_rust(document: &Value) -> ForRust {
    let mut document = document.clone();
    // It would become the documentation of progenitor's client.
    if let Some(info) = object(&mut document, "/info") {
        info.remove("description");
    }
    let (mut kinds, mut enums) = (BTreeMap::new(), Vec::new());
    for (owner, schema) in object(&mut document, "/components/schemas").into_iter().flatten() {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            name_identifier(owner, name, property, &mut kinds);
            if owner == ERROR {
                text_alone(property);
            } else {
                name_enum(owner, name, property, &mut enums);
            }
        }
    }
    for (_, path) in object(&mut document, "/paths").into_iter().flatten() {
        let methods = path.as_object_mut().into_iter().flatten();
        for (_, operation) in methods.filter(|(key, _)| PATH.keys.contains(&key.as_str())) {
            parameters(operation).for_each(|of| read_parameter(of, &mut kinds, &enums));
            success_alone(operation);
        }
    }
    let identifiers = kinds.keys().cloned().collect();
    // Never generated: the enum is what it is replaced by.
    kinds.extend(enums.iter().map(|of| (of.name.clone(), json!({ "type": "string" }))));
    if let Some(components) = object(&mut document, "/components") {
        components.retain(|key, _| key == "schemas");
    }
    if let Some(schemas) = object(&mut document, "/components/schemas") {
        schemas.extend(kinds);
    }
    without_bounds(&mut document);
    let enums = enums.into_iter().map(|of| of.name).collect();
    ForRust { document, identifiers, enums }
}

fn object<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Map<String, Value>> {
    value.pointer_mut(pointer).and_then(Value::as_object_mut)
}

fn parameters(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten()
}

fn read_parameter(
    parameter: &mut Value,
    kinds: &mut BTreeMap<String, Value>,
    enums: &[ExtensibleEnum],
) {
    let name = parameter.get("name").and_then(Value::as_str).map(str::to_string);
    let (Some(name), Some(schema)) = (name, parameter.get_mut("schema")) else { return };
    name_identifier("", &name, schema, kinds);
    if let Some(of) = enums.iter().find(|of| of.property == name && has_all(of, schema)) {
        *schema = reference(&of.name, &Value::Null);
    }
    // The server knows the default of an absent parameter.
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("default");
    }
}

/// True if each value of a parameter is one of the enum.
fn has_all(of: &ExtensibleEnum, parameter: &Value) -> bool {
    let values = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_array).cloned();
    let known = values(&of.schema, "x-extensible-enum").unwrap_or_default();
    let sent = values(parameter, "enum").or_else(|| values(parameter, "x-extensible-enum"));
    sent.is_some_and(|sent| sent.iter().all(|value| known.contains(value)))
}

/// Errors and successes without content are told apart by status, by hand and not by progenitor.
fn success_alone(operation: &mut Value) {
    for key in ["summary", "description", "tags"] {
        operation.as_object_mut().and_then(|operation| operation.remove(key));
    }
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        let mut successes: Vec<_> =
            responses.keys().filter(|key| key.starts_with('2')).cloned().collect();
        successes.sort();
        responses.retain(|key, _| Some(key) == successes.first());
    }
}

/// A text of any value.
fn text_alone(property: &mut Value) {
    if let Some(schema) = property.as_object_mut() {
        schema.retain(|key, _| !["enum", "x-extensible-enum"].contains(&key.as_str()));
    }
}

/// Refers to the extensible enum that a property is, if it is one: `status` of an `Order` is an
/// `OrderStatus`.
fn name_enum(owner: &str, name: &str, schema: &mut Value, enums: &mut Vec<ExtensibleEnum>) {
    if schema.get("x-extensible-enum").is_none() {
        return;
    }
    let kind = format!("{owner}{}", name.to_upper_camel_case());
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
    enums.push(ExtensibleEnum { name: kind, property: name.to_string(), schema });
}

fn reference(kind: &str, description: &Value) -> Value {
    json!({
        "allOf": [{ "$ref": format!("#/components/schemas/{kind}") }],
        "description": description,
    })
}

/// Refers to the kind of identifier that a property or parameter is, if it is one: `id` of
/// an `Order` and any `orderId` is an `OrderId`.
fn name_identifier(
    owner: &str,
    name: &str,
    schema: &mut Value,
    kinds: &mut BTreeMap<String, Value>,
) {
    let is_64_bits = schema["type"] == "integer" && schema["format"] == "int64";
    let of = match name.strip_suffix("Id") {
        Some(of) => of,
        None if name == "id" => owner,
        None => return,
    };
    let (true, Some(of)) = (is_64_bits, pascal(of)) else { return };
    let kind = format!("{of}Id");
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
    // Its own record describes it best.
    if name == "id" || !kinds.contains_key(&kind) {
        kinds.insert(kind, schema);
    }
}

/// Leaves bounds out of each schema, and of other objects, which have none.
fn without_bounds(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_bounds),
        Value::Object(fields) => {
            fields.retain(|key, value| {
                let is_bound = BOUNDS.contains(&key.as_str()) && !value.is_object();
                let is_closed = key == "additionalProperties" && *value == false;
                let is_untyped = key == "format"
                    && value.as_str().is_some_and(|format| !TYPED_FORMATS.contains(&format));
                !is_bound && !is_closed && !is_untyped
            });
            fields.values_mut().for_each(without_bounds);
        }
        _ => {}
    }
}
