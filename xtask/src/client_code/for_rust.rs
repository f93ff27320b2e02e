//! The document as the generator reads it: identifiers are types of their own, and what
//! is meant for readers of other languages is left out.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Each kind of identifier, such as `OrderId`, becomes a schema, so that progenitor makes
/// a newtype of it; the names of all of them are returned.
pub(super) fn for_rust(document: &Value) -> (Value, Vec<String>) {
    let mut document = document.clone();
    // It would become the documentation of `Client`, and rustdoc would take its
    // curl example for Rust. The crate has an introduction of its own.
    if let Some(info) = document.pointer_mut("/info").and_then(Value::as_object_mut) {
        info.remove("description");
    }
    without_javascript(&mut document);
    let mut kinds = BTreeMap::new();
    if let Some(schemas) = document.pointer_mut("/components/schemas") {
        for (owner, schema) in schemas.as_object_mut().into_iter().flatten() {
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            for (name, property) in properties.into_iter().flatten() {
                name_identifier(owner, name, property, &mut kinds);
            }
        }
    }
    let operations = document.get_mut("paths").and_then(Value::as_object_mut).into_iter().flatten();
    for (_, operation) in operations.filter_map(|(_, path)| path.as_object_mut()).flatten() {
        let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
        for parameter in parameters.into_iter().flatten() {
            let name = parameter.get("name").and_then(Value::as_str).map(str::to_string);
            if let (Some(name), Some(schema)) = (name, parameter.get_mut("schema")) {
                name_identifier("", &name, schema, &mut kinds);
            }
        }
    }
    let names = kinds.keys().cloned().collect();
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        schemas.extend(kinds);
    }
    (document, names)
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
    let mut letters = of.chars();
    let (true, Some(first)) = (is_64_bits, letters.next()) else { return };
    let kind = format!("{}{}Id", first.to_uppercase(), letters.as_str());
    let reference = json!({
        "allOf": [{ "$ref": format!("#/components/schemas/{kind}") }],
        "description": schema["description"],
    });
    let schema = std::mem::replace(schema, reference);
    // Its own record describes it best.
    if name == "id" || !kinds.contains_key(&kind) {
        kinds.insert(kind, schema);
    }
}

/// Leaves out the sentences about JavaScript's numbers: Rust has integers of 64 bits.
fn without_javascript(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_javascript),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        let sentences = text.split_inclusive(". ");
                        let kept = sentences.filter(|sentence| !sentence.contains("JavaScript"));
                        *text = kept.collect::<String>().trim_end().to_string();
                    }
                    value => without_javascript(value),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_named_and_javascript_is_left_out() {
        let id = |text: &str| json!({ "type": "integer", "format": "int64", "description": text });
        let (document, names) = for_rust(&json!({
            "info": { "description": "curl" },
            "paths": { "/o": { "get": { "parameters": [
                { "name": "orderId", "schema": { "type": "integer", "format": "int64" } },
                { "name": "cursorId", "schema": { "type": "string" } },
            ] } } },
            "components": { "schemas": { "Order": { "properties": {
                "petId": id("Pet. In JavaScript, beware. Always there."),
                "id": id("Unique."),
                "quantity": id("Units."),
            } } } },
        }));
        let reference = |kind: &str, text: Value| {
            json!({
                "allOf": [{ "$ref": format!("#/components/schemas/{kind}") }],
                "description": text,
            })
        };
        assert_eq!(names, ["OrderId", "PetId"]);
        assert_eq!(document["info"], json!({}));
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["OrderId"], id("Unique."));
        let properties = &schemas["Order"]["properties"];
        assert_eq!(properties["petId"], reference("PetId", json!("Pet. Always there.")));
        assert_eq!(properties["quantity"], id("Units."));
        let parameters = &document["paths"]["/o"]["get"]["parameters"];
        assert_eq!(parameters[0]["schema"], reference("OrderId", Value::Null));
        assert_eq!(parameters[1]["schema"], json!({ "type": "string" }));
    }
}
