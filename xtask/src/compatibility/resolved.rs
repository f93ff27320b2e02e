//! Replaces each reference below `paths` with its target. So the comparison finds a change of a
//! shared component at each use. Recursive references stay, because their replacement would never
//! end.
//!
//! Copies the document's `security` to operations without their own.

use codegen::pointer;
use serde_json::{Value, json};

pub(super) const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Returns the operations of a document, each with the name that the changelog uses for it.
pub fn all_operations(document: &Value) -> Vec<(&str, &Value)> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        METHODS.iter().filter_map(move |method| Some((path, item.get(*method)?)))
    });
    operations.map(|(path, operation)| (operation_name(operation, path), operation)).collect()
}

/// Returns the name that the changelog uses for an operation: its `operationId`, or else its path.
pub(super) fn operation_name<'a>(operation: &'a Value, path: &'a str) -> &'a str {
    operation.get("operationId").and_then(Value::as_str).unwrap_or(path)
}

pub(super) fn resolve_operations(document: &Value) -> Value {
    let mut resolved = document.clone();
    let security = document.get("security").cloned().unwrap_or_else(|| json!([]));
    if let Some(paths) = resolved.get_mut("paths") {
        *paths = pointer::resolve_references(document, paths);
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
