//! Prepares a document for progenitor:
//!
//! - Identifiers and extensible enums (`x-extensible-enum`) become named schemas, so that each gets
//!   its own type.
//! - Closed enums become named schemas only in parameters.
//! - Each operation keeps only its first success response.
//! - Bounds are removed, because only the server checks them.

use crate::names::pascal;
use crate::subset::PATH;
use heck::ToUpperCamelCase;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The input of progenitor, and the names of the schemas that become separate Rust types.
pub struct ProgenitorInput {
    pub document: Value,
    /// The names of the identifier schemas, such as `OrderId`. Each schema becomes a newtype.
    pub identifiers: Vec<String>,
    /// The names of the extensible enums. Each names a schema of `document` that properties and
    /// parameters refer to.
    pub enums: Vec<String>,
}

/// The keywords of a schema that limit its values. They are removed from the document that
/// progenitor gets. The client does not check these limits, because the API may widen them later.
const BOUNDS: [&str; 3] = ["minimum", "maximum", "pattern"];

/// The name of the schema of the error body. Its `code` does not become an enum: in the client,
/// `code` is a string, which a handwritten method converts to an enum.
pub const ERROR: &str = "Error";

/// An extensible enum that the schema of a property declares.
struct ExtensibleEnum {
    name: String,
    /// The name of the property that declares the enum. A parameter with this name gets the enum as
    /// its type if the enum has all values of the parameter.
    property: String,
    schema: Value,
}

pub fn prepare_document(document: &Value) -> ProgenitorInput {
    let mut document = document.clone();
    // Removes the description of the API, because progenitor would use it as the documentation of
    // the client.
    if let Some(info) = object(&mut document, "/info") {
        info.remove("description");
    }
    let (mut kinds, mut enums) = (BTreeMap::new(), Vec::new());
    let mut closed_enums = ClosedEnums::new();
    for (owner, schema) in object(&mut document, "/components/schemas").into_iter().flatten() {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, property) in properties.into_iter().flatten() {
            name_identifier(owner, name, property, &mut kinds);
            if owner == ERROR {
                accept_any_text(property);
            } else {
                name_enum(owner, name, property, &mut enums);
            }
        }
    }
    for (_, path) in object(&mut document, "/paths").into_iter().flatten() {
        let methods = path.as_object_mut().into_iter().flatten();
        for (_, operation) in methods.filter(|(key, _)| PATH.keys.contains(&key.as_str())) {
            let id = operation["operationId"].as_str().unwrap_or_default().to_string();
            for parameter in parameters(operation) {
                prepare_parameter(parameter, &mut kinds, &enums);
                name_closed_enum(&id, parameter, &mut closed_enums);
            }
            keep_first_success(operation);
        }
    }
    let identifiers = kinds.keys().cloned().collect();
    // Adds each extensible enum as a string schema, so that references to the enum resolve.
    // Progenitor replaces the schema with the enum in `generated/values.rs`.
    kinds.extend(
        enums.iter().map(|extensible| (extensible.name.clone(), json!({ "type": "string" }))),
    );
    if let Some(components) = object(&mut document, "/components") {
        components.retain(|key, _| key == "schemas");
    }
    if let Some(schemas) = object(&mut document, "/components/schemas") {
        schemas.extend(kinds);
        schemas.extend(closed_enums.into_iter().map(|(schema, name)| (name, schema)));
    }
    remove_bounds(&mut document);
    describe_for_rust(&mut document);
    let enums = enums.into_iter().map(|extensible| extensible.name).collect();
    ProgenitorInput { document, identifiers, enums }
}

fn object<'a>(value: &'a mut Value, pointer: &str) -> Option<&'a mut Map<String, Value>> {
    value.pointer_mut(pointer).and_then(Value::as_object_mut)
}

fn parameters(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten()
}

fn prepare_parameter(
    parameter: &mut Value,
    kinds: &mut BTreeMap<String, Value>,
    enums: &[ExtensibleEnum],
) {
    let name = parameter.get("name").and_then(Value::as_str).map(str::to_string);
    let (Some(name), Some(schema)) = (name, parameter.get_mut("schema")) else { return };
    name_identifier("", &name, schema, kinds);
    if let Some(extensible) = enums
        .iter()
        .find(|extensible| extensible.property == name && has_all_values(extensible, schema))
    {
        *schema = reference(&extensible.name, &Value::Null);
    }
    // Removes the default, because the server applies it if the parameter is absent.
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("default");
    }
}

/// Closed enums of parameters: each schema, and the name of its Rust type.
type ClosedEnums = Vec<(Value, String)>;

/// Replaces the schema of a closed enum with a reference to a type. Parameters with the same schema
/// share a type. The type is named after the first of these parameters and its operation, as in
/// `ListBooksGenre`.
fn name_closed_enum(operation: &str, parameter: &mut Value, closed_enums: &mut ClosedEnums) {
    let name = parameter["name"].as_str().unwrap_or_default().to_upper_camel_case();
    let Some(schema) = parameter.get_mut("schema").filter(|schema| schema.get("enum").is_some())
    else {
        return;
    };
    let shared = closed_enums.iter().find(|(known, _)| known == schema);
    let kind = match shared {
        Some((_, kind)) => kind.clone(),
        None => {
            let kind = format!("{}{name}", operation.to_upper_camel_case());
            closed_enums.push((schema.clone(), kind.clone()));
            kind
        }
    };
    *schema = reference(&kind, &Value::Null);
}

fn has_all_values(extensible: &ExtensibleEnum, parameter: &Value) -> bool {
    let values = |schema: &Value, key: &str| schema.get(key).and_then(Value::as_array).cloned();
    let values_of_enum = values(&extensible.schema, "x-extensible-enum").unwrap_or_default();
    let sent = values(parameter, "enum");
    sent.is_some_and(|sent| sent.iter().all(|value| values_of_enum.contains(value)))
}

/// Removes all responses except the first 2xx response, because handwritten code handles all other
/// statuses. Also removes members that the client does not use.
fn keep_first_success(operation: &mut Value) {
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

fn accept_any_text(property: &mut Value) {
    if let Some(schema) = property.as_object_mut() {
        schema.retain(|key, _| !["enum", "x-extensible-enum"].contains(&key.as_str()));
    }
}

fn name_enum(owner: &str, name: &str, schema: &mut Value, enums: &mut Vec<ExtensibleEnum>) {
    if schema.get("x-extensible-enum").is_none() {
        return;
    }
    let kind = enum_name(owner, name);
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
    enums.push(ExtensibleEnum { name: kind, property: name.to_string(), schema });
}

fn enum_name(owner: &str, property: &str) -> String {
    format!("{owner}{}", property.to_upper_camel_case())
}

/// Returns each extensible enum's name, and the name and schema of its property.
pub fn extensible_enums(document: &Value) -> Vec<(String, String, &Value)> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let properties = schemas.into_iter().flatten().flat_map(|(owner, schema)| {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.into_iter().flatten().map(move |(name, property)| (owner, name, property))
    });
    properties
        .filter(|(.., property)| property.get("x-extensible-enum").is_some())
        .map(|(owner, name, property)| (enum_name(owner, name), name.clone(), property))
        .collect()
}

fn reference(kind: &str, description: &Value) -> Value {
    json!({
        "allOf": [{ "$ref": format!("#/components/schemas/{kind}") }],
        "description": description,
    })
}

/// If a property or parameter is an identifier, replaces its schema with a reference. For example,
/// `id` of an `Order` and any `orderId` become an `OrderId`.
fn name_identifier(
    owner: &str,
    name: &str,
    schema: &mut Value,
    kinds: &mut BTreeMap<String, Value>,
) {
    let is_64_bits = schema["type"] == "integer" && schema["format"] == "int64";
    let entity = match name.strip_suffix("Id") {
        Some(entity) => entity,
        None if name == "id" => owner,
        None => return,
    };
    let (true, Some(entity)) = (is_64_bits, pascal(entity)) else { return };
    let kind = format!("{entity}Id");
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
    // Several members can share an id type. The description of a record's own `id` fits the type
    // best.
    if name == "id" || !kinds.contains_key(&kind) {
        kinds.insert(kind, schema);
    }
}

/// Removes the bounds, because only the server checks them. Keeps a key such as `pattern` if its
/// value is an object, because such a key names a property.
fn remove_bounds(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(remove_bounds),
        Value::Object(fields) => {
            fields.retain(|key, value| !BOUNDS.contains(&key.as_str()) || value.is_object());
            fields.values_mut().for_each(remove_bounds);
        }
        _ => {}
    }
}

/// Parts of descriptions that explain a value's text form. The client's documentation replaces
/// these parts, because callers pass Rust values. Each entry has the part's beginning, end and
/// replacement.
const TEXT_FORMS: [(&str, &str, &str); 2] =
    [(": a 64-bit integer in plain decimal", ".", "."), (" (RFC 3339, with any offset", ")", "")];

fn describe_for_rust(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(describe_for_rust),
        Value::Object(fields) => {
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description_for_rust(description);
            }
            fields.values_mut().for_each(describe_for_rust);
        }
        _ => {}
    }
}

fn description_for_rust(description: &str) -> String {
    let mut text = description.to_string();
    for (begin, end, replacement) in TEXT_FORMS {
        if let Some((before, rest)) = text.split_once(begin)
            && let Some((_, after)) = rest.split_once(end)
        {
            text = format!("{before}{replacement}{after}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::description_for_rust;

    #[test]
    fn a_description_for_rust_leaves_out_the_text_of_a_request() {
        for (description, expected) in [
            (
                "A pet: a 64-bit integer in plain decimal, without a plus sign. Optional.",
                "A pet. Optional.",
            ),
            (
                "Before this time (RFC 3339, with any offset; a `+` is sent as `%2B`). Optional.",
                "Before this time. Optional.",
            ),
            ("In UTC (RFC 3339). Absent if unknown.", "In UTC (RFC 3339). Absent if unknown."),
        ] {
            assert_eq!(description_for_rust(description), expected);
        }
    }
}
