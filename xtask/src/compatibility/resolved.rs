//! A document as callers are told it: each reference replaced by what it points to, and each
//! operation with the security that it inherits. So a change of a shared component is found
//! wherever it is used, and what only moved is no change.

use serde_json::{Value, json};

/// The member of what was referred to that holds the reference, because messages name schemas and
/// headers by it.
pub(super) const COMPONENT: &str = "x-component";

/// The methods that a path can have.
pub(super) const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The operations of a document, each with what the changelog calls it.
pub fn all_operations(document: &Value) -> Vec<(&str, &Value)> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |method| Some((path, item.get(*method)?)))
    });
    operations.map(|(path, operation)| (operation_name(operation, path), operation)).collect()
}

/// What the changelog calls an operation of a path.
pub(super) fn operation_name<'a>(operation: &'a Value, path: &'a str) -> &'a str {
    operation.get("operationId").and_then(Value::as_str).unwrap_or(path)
}

/// The document with its operations resolved.
pub(super) fn resolved(document: &Value) -> Value {
    let mut resolved = document.clone();
    let security = document.get("security").cloned().unwrap_or_else(|| json!([]));
    if let Some(paths) = resolved.get_mut("paths") {
        *paths = resolve(document, paths, &[]);
        for item in paths.as_object_mut().into_iter().flat_map(|paths| paths.values_mut()) {
            for method in METHODS {
                if let Some(operation) = item.get_mut(method).and_then(Value::as_object_mut) {
                    operation.entry("security").or_insert_with(|| security.clone());
                }
            }
        }
    }
    resolved
}

/// The name of the component that this comes from.
pub(super) fn component(value: &Value) -> Option<&str> {
    Some(value.get(COMPONENT)?.as_str()?.rsplit_once('/')?.1)
}

/// A reference out of the document, to nothing or into itself stays as it is.
fn resolve(document: &Value, value: &Value, outer: &[&str]) -> Value {
    match value {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            let reference = reference.filter(|reference| !outer.contains(reference));
            let target = reference.and_then(|at| document.pointer(at.strip_prefix('#')?));
            if let (Some(reference), Some(target)) = (reference, target) {
                let mut target = resolve(document, target, &[outer, &[reference]].concat());
                if let Value::Object(members) = &mut target {
                    members.insert(COMPONENT.to_string(), reference.into());
                }
                return target;
            }
            let member =
                |(key, member): (&String, &Value)| (key.clone(), resolve(document, member, outer));
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(elements) => {
            elements.iter().map(|element| resolve(document, element, outer)).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_and_what_they_point_to_keeps_its_name() {
        let document = json!({ "components": {
            "headers": { "H": { "schema": { "$ref": "#/components/schemas/S" } } },
            "schemas": { "S": { "type": "string" } },
        }, "paths": { "x": { "$ref": "#/components/headers/H" } } });
        let header = &resolved(&document)["paths"]["x"];
        let of = "#/components/schemas/S";
        assert_eq!(header["schema"], json!({ "type": "string", "x-component": of }));
        assert_eq!((component(header), component(&header["schema"])), (Some("H"), Some("S")));
    }

    #[test]
    fn a_cycle_ends() {
        let reference = json!({ "$ref": "#/components/schemas/Tree" });
        let document = json!({
            "components": { "schemas": { "Tree": { "items": reference } } },
            "paths": { "x": reference },
        });
        let tree = json!({ "items": reference, "x-component": "#/components/schemas/Tree" });
        assert_eq!(resolved(&document)["paths"]["x"], tree);
    }

    #[test]
    fn an_operation_has_the_security_of_the_document_or_its_own() {
        let document = json!({
            "security": [{ "k": [] }],
            "paths": { "/x": { "get": {}, "put": { "security": [] } } },
        });
        let path = &resolved(&document)["paths"]["/x"];
        assert_eq!(path["get"]["security"], json!([{ "k": [] }]));
        assert_eq!(path["put"]["security"], json!([]));
    }
}
