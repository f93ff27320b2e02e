//! Checks values against the document's schemas. Integers must fit into their format, such as
//! `int64`. With [`Reader::Closed`], objects must not have undocumented fields.

use codegen::validation::strict_schema;
use jsonschema::Validator;
use serde_json::{Value, json};

/// Whether undocumented additions to responses are violations: yes for today's documents
/// ([`Reader::Closed`]), no for published ones ([`Reader::Open`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Undocumented fields, headers and codes are violations.
    Closed,
    /// Undocumented fields, headers and codes are allowed, because programs that were written for
    /// an earlier document must ignore them.
    Open,
}

pub struct SchemaCheck {
    /// The compiled schema, or the reason why values cannot be checked against it.
    validator: Result<Validator, String>,
    is_text: bool,
}

impl SchemaCheck {
    /// Compiles a schema whose references are resolved. If a keyword or format is unsupported,
    /// every value fails the check, because ignoring the keyword or format would make the check too
    /// lax.
    pub fn new(schema: &Value, reader: Reader) -> SchemaCheck {
        let strict = strict_schema(schema, reader == Reader::Closed);
        let validator = strict.and_then(|schema| {
            let options = jsonschema::options().should_validate_formats(true);
            options.build(&schema).map_err(|error| format!("not a schema: {error}"))
        });
        SchemaCheck { validator, is_text: schema["type"] == "string" }
    }

    pub fn body_errors(&self, value: &Value) -> Vec<String> {
        self.errors(value, |place, error| format!("body{place}: {error}"))
    }

    /// Returns the errors of a header's value. A header is always text, so a value whose schema has
    /// another type, such as `integer`, is parsed as JSON first.
    pub fn header_errors(&self, text: &str) -> Vec<String> {
        let value = if self.is_text {
            json!(text)
        } else {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        };
        self.errors(&value, |_, error| error)
    }

    fn errors(&self, value: &Value, describe: impl Fn(String, String) -> String) -> Vec<String> {
        match &self.validator {
            Ok(validator) => validator
                .iter_errors(value)
                .map(|error| describe(error.instance_path().to_string(), error.to_string()))
                .collect(),
            Err(problem) => vec![problem.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(schema: Value, value: Value) -> String {
        SchemaCheck::new(&schema, Reader::Closed).body_errors(&value).join("\n")
    }

    #[test]
    fn each_supported_keyword_is_checked() {
        let integer = |key: &str, value: Value| json!({ "type": "integer", key: value });
        let string = |key: &str, value: Value| json!({ "type": "string", key: value });
        let cases = [
            (integer("minimum", json!(2)), json!(2), json!(1)),
            (integer("maximum", json!(2)), json!(2), json!(3)),
            (integer("format", json!("int32")), json!(1), json!(3_000_000_000_i64)),
            (integer("format", json!("int64")), json!(i64::MAX), json!(u64::MAX)),
            (string("enum", json!(["a"])), json!("a"), json!("b")),
            (string("pattern", json!("^a$")), json!("a"), json!("b")),
            (string("format", json!("date-time")), json!("2026-01-02T00:00:00Z"), json!("2026")),
            (integer("default", json!(1)), json!(2), json!("a")),
        ];
        for (schema, valid, invalid) in cases {
            assert_eq!(errors(schema.clone(), valid), "", "{schema}");
            assert_ne!(errors(schema.clone(), invalid), "", "{schema}");
        }
    }

    #[test]
    fn an_unsupported_keyword_or_format_is_a_violation_and_no_panic() {
        for (schema, unknown) in [
            (json!({ "type": "string", "maxLength": 3 }), "`maxLength`"),
            (json!({ "type": "string", "format": "date" }), "the format \"date\""),
            (
                json!({ "type": "array", "items": { "type": "integer", "multipleOf": 2 } }),
                "`multipleOf`",
            ),
        ] {
            let expected = format!("the generator does not support {unknown}");
            assert!(errors(schema.clone(), json!("a")).starts_with(&expected), "{schema}");
            let check = SchemaCheck::new(&schema, Reader::Open);
            assert!(check.header_errors("a")[0].starts_with(&expected), "{schema}");
        }
    }
}
