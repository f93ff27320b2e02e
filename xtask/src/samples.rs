//! The programs to copy: a file of `spec/samples` for each operation and language, which stands in
//! the document as `x-codeSamples`.

use crate::documents::Document;
use crate::repository::{Repository, SAMPLES};
use serde_json::{Map, Value, json};

/// The field of an operation.
pub const FIELD: &str = "x-codeSamples";

/// Of each language its name in the document, its name for people, and the end of its files.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("shell", "curl", "sh"),
    ("python", "Python", "py"),
    ("typescript", "TypeScript", "ts"),
    ("rust", "Rust", "rs"),
];

/// Puts the samples into each operation that has them all. Returns the files that are missing.
pub fn put(
    repository: &Repository,
    of: &Document,
    document: &mut Value,
) -> anyhow::Result<Vec<String>> {
    let mut missing = Vec::new();
    for operation in operations(document) {
        let Some(id) = operation.get("operationId").and_then(Value::as_str) else { continue };
        let (mut samples, known) = (Vec::new(), missing.len());
        for (lang, label, end) in LANGUAGES {
            let (file, directory) = (format!("{id}.{end}"), of.base_path);
            // That of the version, or else that of all versions.
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
        if missing.len() == known {
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
