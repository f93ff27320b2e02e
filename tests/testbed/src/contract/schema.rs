//! Checks values against the schemas of the document, as strictly as they can
//! be read: no field that the schema lacks, no integer of more than 64 bits.

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// The keywords that the document's schemas use. Any other would be ignored
/// silently, so it fails the tests until it is added.
const KNOWN_KEYWORDS: [&str; 11] = [
    "type",
    "format",
    "title",
    "description",
    "properties",
    "required",
    "items",
    "minimum",
    "example",
    "x-extensible-enum",
    "x-enumDescriptions",
];

/// A compiled schema.
pub struct SchemaCheck {
    validator: Validator,
    is_text: bool,
}

impl SchemaCheck {
    /// Reads a schema without references.
    pub fn of(schema: &Value) -> SchemaCheck {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&strict(schema))
            .expect("the document's schemas are schemas");
        SchemaCheck { validator, is_text: schema["type"] == "string" }
    }

    /// What is wrong with a body.
    pub fn body(&self, value: &Value) -> Vec<String> {
        let errors = self.validator.iter_errors(value);
        errors.map(|error| format!("body{}: {error}", error.instance_path())).collect()
    }

    /// What is wrong with a header's value, which is written as plain text.
    pub fn text(&self, text: &str) -> Vec<String> {
        let value = if self.is_text {
            json!(text)
        } else {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        };
        self.validator.iter_errors(&value).map(|error| error.to_string()).collect()
    }
}

/// The schema with everything that JSON Schema leaves open closed.
fn strict(schema: &Value) -> Value {
    let mut strict = schema.as_object().unwrap().clone();
    for keyword in strict.keys() {
        assert!(KNOWN_KEYWORDS.contains(&keyword.as_str()), "the testbed does not know {keyword}");
    }
    if let Some(Value::Object(properties)) = strict.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = self::strict(property));
        strict.insert("additionalProperties".to_string(), json!(false));
    }
    if let Some(items) = strict.get_mut("items") {
        *items = self::strict(items);
    }
    match schema["format"].as_str() {
        Some("int64") => {
            strict.entry("minimum").or_insert(json!(i64::MIN));
            strict.entry("maximum").or_insert(json!(i64::MAX));
        }
        Some("date-time" | "uuid") | None => {}
        Some(other) => panic!("the testbed does not know the format {other}"),
    }
    strict.into()
}

/// The value with its references replaced by what they refer to.
pub fn resolved(document: &Value, value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let target = document.pointer(reference.trim_start_matches('#'));
                resolved(
                    document,
                    target.unwrap_or_else(|| panic!("{reference} refers to nothing")),
                )
            }
            None => members
                .iter()
                .map(|(key, member)| (key.clone(), resolved(document, member)))
                .collect::<Map<_, _>>()
                .into(),
        },
        Value::Array(elements) => {
            elements.iter().map(|element| resolved(document, element)).collect()
        }
        other => other.clone(),
    }
}
