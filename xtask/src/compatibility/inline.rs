//! Follows the references of a document, so that what is compared is what
//! callers are told, wherever it is written down.
//!
//! A schema keeps its reference beside its contents, because generated clients
//! name a type after it. A schema inside itself keeps only the reference: its
//! contents are compared where they first stand.

use serde_json::{Map, Value};

/// Where references to schemas point: what stands there has a name that counts.
const SCHEMAS: &str = "#/components/schemas/";

/// The same value with every reference into `document` followed.
pub(super) fn inlined(document: &Value, value: &Value) -> Value {
    follow(document, value, &mut Vec::new())
}

fn follow(document: &Value, value: &Value, within: &mut Vec<String>) -> Value {
    match value {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => referred(document, value, reference, within),
            None => members
                .iter()
                .map(|(key, member)| (key.clone(), follow(document, member, within)))
                .collect::<Map<_, _>>()
                .into(),
        },
        Value::Array(elements) => {
            elements.iter().map(|element| follow(document, element, within)).collect()
        }
        other => other.clone(),
    }
}

/// What stands at the end of a reference; the reference itself if that leads
/// out of the document, nowhere, or in a circle.
fn referred(document: &Value, value: &Value, reference: &str, within: &mut Vec<String>) -> Value {
    let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
    let Some(target) = target.filter(|_| !within.iter().any(|outer| outer == reference)) else {
        return value.clone();
    };
    within.push(reference.to_string());
    let mut followed = follow(document, target, within);
    within.pop();
    if let Value::Object(members) = &mut followed
        && reference.starts_with(SCHEMAS)
    {
        members.insert("$ref".to_string(), reference.into());
    }
    followed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_are_followed_and_schemas_keep_their_name() {
        let document = json!({ "components": {
            "headers": { "H": { "schema": { "$ref": "#/components/schemas/S" } } },
            "schemas": { "S": { "type": "string" } },
        }});
        assert_eq!(
            inlined(&document, &json!([{ "$ref": "#/components/headers/H" }])),
            json!([{ "schema": { "type": "string", "$ref": "#/components/schemas/S" } }])
        );
    }

    #[test]
    fn a_circle_ends() {
        let tree = json!({ "items": { "$ref": "#/components/schemas/Tree" } });
        let document = json!({ "components": { "schemas": { "Tree": tree } } });
        let reference = json!({ "$ref": "#/components/schemas/Tree" });
        assert_eq!(
            inlined(&document, &reference),
            json!({ "items": reference, "$ref": "#/components/schemas/Tree" })
        );
    }
}
