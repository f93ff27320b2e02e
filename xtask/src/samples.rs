//! Inserts the code samples into the documents as `x-codeSamples`. `spec/samples` contains one file
//! per operation and language.

use crate::documents::Document;
use crate::repository::{Repository, SAMPLES};
use serde_json::{Map, Value, json};

/// The field of an operation with its code samples.
pub const FIELD: &str = "x-codeSamples";

/// The languages: value of `lang` in the document, displayed name, and file extension.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("shell", "curl", "sh"),
    ("python", "Python", "py"),
    ("typescript", "TypeScript", "ts"),
    ("rust", "Rust", "rs"),
];

/// Inserts the samples into each operation that has a sample in every language. Returns the missing
/// files.
pub fn put(
    repository: &Repository,
    of: &Document,
    document: &mut Value,
) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    for operation in operations(document) {
        let Some(id) = operation.get("operationId").and_then(Value::as_str) else { continue };
        let (mut samples, missing_before) = (Vec::new(), missing.len());
        for (lang, label, extension) in LANGUAGES {
            let (file, directory) = (format!("{id}.{extension}"), of.base_path);
            // Uses the version's own sample if there is one, otherwise the sample that all versions
            // share.
            let source = match repository.read_or_empty(&format!("{SAMPLES}{directory}/{file}"))? {
                own if own.is_empty() => repository.read_or_empty(&format!("{SAMPLES}/{file}"))?,
                own => own,
            };
            match source.trim_end() {
                "" => missing.push(format!("{SAMPLES}/{file}")),
                source => {
                    samples.push(json!({ "lang": lang, "label": label, "source": source }));
                }
            }
        }
        if missing.len() == missing_before {
            operation.insert(FIELD.to_string(), Value::Array(samples));
        }
    }
    Ok(missing)
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let paths = paths.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut);
    paths.flat_map(Map::values_mut).filter_map(Value::as_object_mut)
}
