//! The operations of a document, each with the security that it inherits.

use serde_json::{Map, Value};

/// The methods that a path can have.
pub(super) const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// An operation where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'a> {
    pub document: &'a Value,
    pub path: &'a str,
    pub method: &'static str,
    pub value: &'a Value,
}

impl<'a> Operation<'a> {
    /// Every operation of a document.
    pub fn all(document: &'a Value) -> Vec<Operation<'a>> {
        let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
        let operations = paths.flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |method| Operation::at(document, path, item, method))
        });
        operations.collect()
    }

    /// The operation of a path with this method, if it has one.
    pub fn at(
        document: &'a Value,
        path: &'a str,
        item: &'a Value,
        method: &'static str,
    ) -> Option<Operation<'a>> {
        Some(Operation { document, path, method, value: item.get(method)? })
    }

    /// What the changelog calls it.
    pub fn name(&self) -> String {
        match self.value.get("operationId").and_then(Value::as_str) {
            Some(id) => id.to_string(),
            None => format!("{} {}", self.method.to_uppercase(), self.path),
        }
    }

    /// Its security, which overrides the document's.
    pub fn security(&self) -> Vec<Value> {
        let own = self.value.get("security").or_else(|| self.document.get("security"));
        own.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Its parameters.
    pub fn parameters(&self) -> Vec<Value> {
        let own = self.value.get("parameters").and_then(Value::as_array);
        own.cloned().unwrap_or_default()
    }
}

/// What the changelog calls the operations of a document.
pub(super) fn names(document: &Value) -> Vec<String> {
    Operation::all(document).iter().map(Operation::name).collect()
}

/// A path without the names of its parameters: two paths with the same one are
/// the same place for callers.
pub(super) fn template(path: &str) -> String {
    let parts = path.split('{').enumerate().map(|(index, part)| match part.split_once('}') {
        Some((_, rest)) if index > 0 => format!("{{}}{rest}"),
        _ => part.to_string(),
    });
    parts.collect()
}

/// The keys of an object.
pub(super) fn keys(object: Option<&Value>) -> impl Iterator<Item = &String> {
    object.and_then(Value::as_object).into_iter().flat_map(Map::keys)
}
