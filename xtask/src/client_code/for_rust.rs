//! The document as the generator reads it: identifiers and extensible enums are types of their
//! own, and what is meant for readers of other languages is left out.

use super::extensible_enum::ExtensibleEnum;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the generator reads.
pub(super) struct ForRust {
    pub document: Value,
    /// The names of the schemas that are identifiers: each kind, such as `OrderId`, is one, so
    /// that progenitor makes a newtype of it.
    pub identifiers: Vec<String>,
    /// The extensible enums, to which properties and parameters refer as to schemas.
    pub enums: Vec<ExtensibleEnum>,
}

pub(super) fn for_rust(document: &Value) -> ForRust {
    let mut document = document.clone();
    // It would become the documentation of `Client`, and rustdoc would take its
    // curl example for Rust. The crate has an introduction of its own.
    if let Some(info) = document.pointer_mut("/info").and_then(Value::as_object_mut) {
        info.remove("description");
    }
    without_javascript(&mut document);
    let (mut kinds, mut enums) = (BTreeMap::new(), Vec::new());
    if let Some(schemas) = document.pointer_mut("/components/schemas") {
        for (owner, schema) in schemas.as_object_mut().into_iter().flatten() {
            let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
            for (name, property) in properties.into_iter().flatten() {
                name_identifier(owner, name, property, &mut kinds);
                name_enum(owner, name, property, &mut enums);
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
                if let Some(of) = enums.iter().find(|of| of.noun == name) {
                    *schema = reference(&of.name, &Value::Null);
                }
                // The server says which bound is not kept.
                for bound in ["minimum", "maximum", "pattern"] {
                    schema.as_object_mut().and_then(|schema| schema.remove(bound));
                }
            }
        }
    }
    let identifiers = kinds.keys().cloned().collect();
    // Never generated: the enum is what it is replaced by.
    kinds.extend(enums.iter().map(|of| (of.name.clone(), json!({ "type": "string" }))));
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        schemas.extend(kinds);
    }
    ForRust { document, identifiers, enums }
}

/// Refers to the extensible enum that a property is, if it is one: `status` of an `Order` is an
/// `OrderStatus`. The `code` of an error is text, which has a method for its enum.
fn name_enum(owner: &str, name: &str, schema: &mut Value, enums: &mut Vec<ExtensibleEnum>) {
    if owner == "Error" || schema.get("x-extensible-enum").is_none() {
        return;
    }
    let mut letters = name.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let kind = first.fold(owner.to_string(), |kind, letter| kind + &letter.to_string());
    let kind = kind + letters.as_str();
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
    enums.push(ExtensibleEnum {
        module: format!("{}_{name}", owner.to_lowercase()),
        name: kind,
        noun: name.to_string(),
        about: format!(" The values of `{name}` that the document lists."),
        docs: vec![format!(" {}", description.as_str().unwrap_or_default())],
        place: format!("/components/schemas/{owner}/properties/{name}"),
        schema,
    });
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
    let mut letters = of.chars();
    let (true, Some(first)) = (is_64_bits, letters.next()) else { return };
    let kind = format!("{}{}Id", first.to_uppercase(), letters.as_str());
    let description = schema.get("description").cloned().unwrap_or_default();
    let schema = std::mem::replace(schema, reference(&kind, &description));
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
        let ForRust { document, identifiers, enums } = for_rust(&json!({
            "info": { "description": "curl" },
            "paths": { "/o": { "get": { "parameters": [
                { "name": "orderId", "schema": { "type": "integer", "format": "int64" } },
                { "name": "cursorId", "schema": { "type": "string" } },
                { "name": "status", "schema": { "type": "string", "enum": ["open"] } },
                { "name": "limit", "schema": { "type": "integer", "minimum": 1 } },
            ] } } },
            "components": { "schemas": { "Order": { "properties": {
                "petId": id("Pet. In JavaScript, beware. Always there."),
                "id": id("Unique."),
                "quantity": id("Units."),
                "status": { "x-extensible-enum": ["open"], "description": "What it is." },
            } } } },
        }));
        assert_eq!(identifiers, ["OrderId", "PetId"]);
        let [status] = enums.as_slice() else { panic!("one enum") };
        assert_eq!((&*status.name, &*status.module), ("OrderStatus", "order_status"));
        assert_eq!(document["info"], json!({}));
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["OrderId"], id("Unique."));
        let properties = &schemas["Order"]["properties"];
        assert_eq!(properties["petId"], reference("PetId", &json!("Pet. Always there.")));
        assert_eq!(properties["quantity"], id("Units."));
        assert_eq!(properties["status"], reference("OrderStatus", &json!("What it is.")));
        let parameters = &document["paths"]["/o"]["get"]["parameters"];
        assert_eq!(parameters[0]["schema"], reference("OrderId", &Value::Null));
        assert_eq!(parameters[1]["schema"], json!({ "type": "string" }));
        assert_eq!(parameters[2]["schema"], reference("OrderStatus", &Value::Null));
        assert_eq!(parameters[3]["schema"], json!({ "type": "integer" }));
    }
}
