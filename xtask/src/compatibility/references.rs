//! Resolves the references of a document, so that a comparison sees what callers
//! are told, wherever it is written.
//!
//! A schema keeps its reference next to its contents, because generated clients
//! name a type after it. A schema inside itself keeps only the reference: its
//! contents are compared at the outer one.

use serde_json::{Map, Value};

/// Where references to schemas point.
const SCHEMAS: &str = "#/components/schemas/";

/// The document with every reference into it resolved.
pub(super) fn resolved(document: &Value) -> Value {
    resolve(document, document, &mut Vec::new())
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
        && reference.starts_with(SCHEMAS)
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
        assert_eq!(
            resolved(&document)["x"],
            json!([{ "schema": { "type": "string", "$ref": "#/components/schemas/S" } }])
        );
    }

    #[test]
    fn a_cycle_ends() {
        let reference = json!({ "$ref": "#/components/schemas/Tree" });
        let document = json!({
            "components": { "schemas": { "Tree": { "items": reference } } }, "x": reference,
        });
        assert_eq!(
            resolved(&document)["x"],
            json!({ "items": reference, "$ref": "#/components/schemas/Tree" })
        );
    }
}
