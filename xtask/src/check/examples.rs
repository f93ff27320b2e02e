//! Checks the documents' examples of parameters, bodies and headers against the schemas.

use super::document::excerpt;
use super::inputs::{ALL_DOCUMENTS, Inputs, in_each_document};
use super::problem::{Fix, Problem};
use codegen::pointer::{pointer_to, resolve_references};
use codegen::validation::strict_schema;
use serde_json::Value;

pub(super) fn claim(_: &Inputs) -> String {
    format!("the examples of {ALL_DOCUMENTS} match their schemas")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    in_each_document(|of| Ok(check_examples(of.file, &inputs.document(of.file)?)))
}

/// Returns a problem for each place in an example that does not match the schema, and for each
/// schema that cannot be checked.
pub fn check_examples(file: &str, document: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (pointer, schema, example) in examples(document) {
        let schema = resolve_references(document, schema);
        let validator = strict_schema(&schema, true).and_then(|schema| {
            let options = jsonschema::options().should_validate_formats(true);
            options.build(&schema).map_err(|error| error.to_string())
        });
        let mut problem = |place: String, expected: String| {
            problems.push(Problem {
                found: excerpt(example.pointer(&place), 0),
                place: format!("{file}#{pointer}{place}"),
                expected,
                reasons: Vec::new(),
                fix: Fix::ByHand("edit the example, or its schema".to_string()),
            });
        };
        match validator {
            Ok(validator) => validator.iter_errors(example).for_each(|error| {
                let expected = format!("a value that matches the schema: {error}");
                problem(error.instance_path().to_string(), expected);
            }),
            Err(error) => problem(String::new(), format!("a schema that can be checked: {error}")),
        }
    }
    problems
}

/// Finds the examples in all objects that have a `schema`. Returns the pointer, the schema and the
/// value of each example.
fn examples(document: &Value) -> Vec<(String, &Value, &Value)> {
    let mut examples = Vec::new();
    collect("", document, &mut examples);
    examples
}

fn collect<'d>(pointer: &str, value: &'d Value, found: &mut Vec<(String, &'d Value, &'d Value)>) {
    if let Some(schema) = value.get("schema") {
        if let Some(example) = value.get("example") {
            found.push((pointer_to(pointer, "example"), schema, example));
        }
        let examples = value.get("examples").and_then(Value::as_object).into_iter().flatten();
        for (name, example) in examples {
            let place = pointer_to(&pointer_to(pointer, "examples"), name);
            if let Some(example) = example.get("value") {
                found.push((pointer_to(&place, "value"), schema, example));
            }
        }
    }
    let is_free = |key: &str| key.starts_with("x-") || ["example", "examples"].contains(&key);
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !is_free(key))
            .for_each(|(key, member)| collect(&pointer_to(pointer, key), member, found)),
        Value::Array(elements) => elements.iter().enumerate().for_each(|(index, element)| {
            collect(&pointer_to(pointer, &index.to_string()), element, found);
        }),
        _ => {}
    }
}
