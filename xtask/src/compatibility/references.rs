//! Resolves the references of a document, so that a comparison sees what callers
//! are told, wherever it is written.
//!
//! A schema and a header keep their reference next to their contents, because
//! messages name them by it. A schema inside itself keeps only the reference:
//! [`contents`] follows it where a comparison gets there.

use serde_json::{Map, Value};

/// Where references to schemas point.
const SCHEMAS: &str = "#/components/schemas/";
/// Where references to headers point.
const HEADERS: &str = "#/components/headers/";

/// The document with every reference into it resolved.
pub(super) fn resolved(document: &Value) -> Value {
    resolve(document, document, &mut Vec::new())
}

/// The name of the component that a resolved schema or header comes from.
pub(super) fn component_name(members: &Map<String, Value>) -> Option<&str> {
    let reference = members.get("$ref")?.as_str()?;
    reference.strip_prefix(SCHEMAS).or_else(|| reference.strip_prefix(HEADERS))
}

/// A schema of a resolved document, or what the reference that it is points to.
pub(super) fn contents<'a>(resolved: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema.as_object().filter(|members| members.len() == 1);
    let reference = reference.and_then(|members| members.get("$ref")?.as_str()?.strip_prefix('#'));
    reference.and_then(|pointer| resolved.pointer(pointer)).unwrap_or(schema)
}

fn resolve(document: &Value, value: &Value, outer: &mut Vec<String>) -> Value {
    match value {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => target(document, value, reference, outer),
            None => members
                .iter()
                .map(|(key, member)| (key.clone(), resolve(document, member, outer)))
                .collect::<Map<_, _>>()
                .into(),
        },
        Value::Array(elements) => {
            elements.iter().map(|element| resolve(document, element, outer)).collect()
        }
        other => other.clone(),
    }
}

/// What a reference points to, or the reference itself if that is outside of the
/// document, missing, or a cycle.
fn target(document: &Value, value: &Value, reference: &str, outer: &mut Vec<String>) -> Value {
    let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
    let Some(target) = target.filter(|_| !outer.iter().any(|other| other == reference)) else {
        return value.clone();
    };
    outer.push(reference.to_string());
    let mut target = resolve(document, target, outer);
    outer.pop();
    if let Value::Object(members) = &mut target
        && (reference.starts_with(SCHEMAS) || reference.starts_with(HEADERS))
    {
        members.insert("$ref".to_string(), reference.into());
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_resolved_and_schemas_keep_their_name() {
        let document = json!({ "components": {
            "headers": { "H": { "schema": { "$ref": "#/components/schemas/S" } } },
            "schemas": { "S": { "type": "string" } },
        }, "x": [{ "$ref": "#/components/headers/H" }]});
        let header = &resolved(&document)["x"][0];
        assert_eq!(header["schema"], json!({ "type": "string", "$ref": "#/components/schemas/S" }));
        assert_eq!(component_name(header.as_object().unwrap()), Some("H"));
        assert_eq!(component_name(header["schema"].as_object().unwrap()), Some("S"));
    }

    #[test]
    fn a_cycle_ends_and_can_be_followed() {
        let reference = json!({ "$ref": "#/components/schemas/Tree" });
        let document = json!({
            "components": { "schemas": { "Tree": { "items": reference } } }, "x": reference,
        });
        let resolved = resolved(&document);
        let tree = json!({ "items": reference, "$ref": "#/components/schemas/Tree" });
        assert_eq!(resolved["x"], tree);
        assert_eq!(contents(&resolved, &tree["items"])["items"], tree);
    }
}
