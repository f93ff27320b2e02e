//! Checks values against the schemas of the document. Integers must fit into 64 bits. With
//! [`Reader::Closed`], objects must not have undocumented fields.

use codegen::pointer::COMPONENT;
use jsonschema::Validator;
use serde_json::{Value, json};

/// The keywords that the document's schemas use. A test fails on any other keyword, because the
/// check would ignore it.
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

/// The strictness of a check: strict for today's documents, tolerant for older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Undocumented fields, headers and codes are violations.
    Closed,
    /// Undocumented additions are allowed, as for programs that were written for an earlier
    /// document.
    Open,
}

/// A schema, compiled for checks.
pub struct SchemaCheck {
    validator: Validator,
    is_text: bool,
}

impl SchemaCheck {
    /// Compiles a schema with its references resolved.
    pub fn new(schema: &Value, reader: Reader) -> SchemaCheck {
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&with_bounds(schema, reader))
            .expect("the document's schemas are schemas");
        SchemaCheck { validator, is_text: schema["type"] == "string" }
    }

    /// Returns the errors of a body.
    pub fn body(&self, value: &Value) -> Vec<String> {
        let errors = self.validator.iter_errors(value);
        errors.map(|error| format!("body{}: {error}", error.instance_path())).collect()
    }

    /// Returns the errors of a header's value, which is plain text.
    pub fn text(&self, text: &str) -> Vec<String> {
        let value = if self.is_text {
            json!(text)
        } else {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        };
        self.validator.iter_errors(&value).map(|error| error.to_string()).collect()
    }
}

/// Adds the bounds of `int64` to a schema. With [`Reader::Closed`], also forbids undocumented
/// fields.
fn with_bounds(schema: &Value, reader: Reader) -> Value {
    let mut bounded = schema.as_object().unwrap().clone();
    for keyword in bounded.keys() {
        assert!(KNOWN_KEYWORDS.contains(&keyword.as_str()), "the testbed does not know {keyword}");
    }
    if let Some(Value::Object(properties)) = bounded.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = with_bounds(property, reader));
        if reader == Reader::Closed {
            bounded.insert("additionalProperties".to_string(), json!(false));
        }
    }
    if let Some(items) = bounded.get_mut("items") {
        *items = with_bounds(items, reader);
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
