//! The programs to copy: a file of `spec/samples` for each operation and language, which stands in
//! the document as `x-codeSamples`.

use crate::documents::Document;
use crate::repository::{Repository, SAMPLES};
use anyhow::Context;
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

/// Puts the samples into each operation.
pub fn put(repository: &Repository, of: &Document, document: &mut Value) -> anyhow::Result<()> {
    for operation in operations(document) {
        let Some(id) = operation.get("operationId").and_then(Value::as_str) else { continue };
        let samples: anyhow::Result<Vec<_>> = LANGUAGES
            .iter()
            .map(|(lang, label, end)| {
                let source = source(repository, of, &format!("{id}.{end}"))?;
                Ok(json!({ "lang": lang, "label": label, "source": source.trim_end() }))
            })
            .collect();
        operation.insert(FIELD.to_string(), Value::Array(samples?));
    }
    Ok(())
}

/// That of the version, or else that of all versions.
fn source(repository: &Repository, of: &Document, file: &str) -> anyhow::Result<String> {
    let own = format!("{SAMPLES}{}/{file}", of.base_path);
    let shared = format!("{SAMPLES}/{file}");
    let text = repository.read(&own).or_else(|_| repository.read(&shared));
    text.with_context(|| format!("each operation of {} has a program to copy", of.file))
}

fn operations(document: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let paths = paths.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut);
    paths.flat_map(Map::values_mut).filter_map(Value::as_object_mut)
}
