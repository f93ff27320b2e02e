//! Checks values against the schemas of the document: no integer of more than 64 bits, and, as
//! today's document is read, no field that the schema lacks.

use codegen::pointer::COMPONENT;
use jsonschema::Validator;
use serde_json::{Value, json};

/// The keywords that the document's schemas use. Any other would be ignored
/// silently, so it fails the tests until it is added.
const KNOWN_KEYWORDS: [&str; 12] = [
    "type",
    "format",
    "title",
    "description",
    "properties",
    "required",
    "items",
    "minimum",
    "example",
    "x-enumDescriptions",
    "x-extensible-enum",
    COMPONENT,
];

/// How a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Everything that is sent is documented.
    Closed,
    /// What is documented is sent, and perhaps more: as programs read a document that was
    /// published before.
    Open,
}

/// A compiled schema.
pub struct SchemaCheck {
    validator: Validator,
    is_text: bool,
}

impl SchemaCheck {
    /// Reads a schema without references.
    pub fn of(schema: &Value, reader: Reader) -> SchemaCheck {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&bounded(schema, reader))
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

/// The schema with bounds where JSON Schema leaves them open.
fn bounded(schema: &Value, reader: Reader) -> Value {
    let mut bounded = schema.as_object().unwrap().clone();
    for keyword in bounded.keys() {
        assert!(KNOWN_KEYWORDS.contains(&keyword.as_str()), "the testbed does not know {keyword}");
    }
    if let Some(Value::Object(properties)) = bounded.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = self::bounded(property, reader));
        if reader == Reader::Closed {
            bounded.insert("additionalProperties".to_string(), json!(false));
        }
    }
    if let Some(items) = bounded.get_mut("items") {
        *items = self::bounded(items, reader);
    }
    match schema["format"].as_str() {
        Some("int64") => {
            bounded.entry("minimum").or_insert(json!(i64::MIN));
            bounded.entry("maximum").or_insert(json!(i64::MAX));
        }
        Some("date-time" | "uuid") | None => {}
        Some(other) => panic!("the testbed does not know the format {other}"),
    }
    bounded.into()
}
