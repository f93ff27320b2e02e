//! The operations of a document, each with what it inherits from its path and
//! from the document.

use super::parameters;
use serde_json::{Map, Value};

/// The methods that a path can have.
pub(super) const METHODS: [&str; 8] =
    ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// An operation where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'a> {
    pub document: &'a Value,
    pub path: &'a str,
    pub item: &'a Value,
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
        Some(Operation { document, path, item, method, value: item.get(method)? })
    }

    /// What the changelog calls it.
    pub fn name(&self) -> String {
        match self.value.get("operationId").and_then(Value::as_str) {
            Some(id) => id.to_string(),
            None => format!("{} {}", self.method.to_uppercase(), self.path),
        }
    }

    /// All that describes it: itself, and the parameters of its path.
    pub fn parts(&self) -> impl Iterator<Item = &'a Value> {
        [Some(self.value), self.item.get("parameters")].into_iter().flatten()
    }

    /// Its security, which overrides the document's.
    pub fn security(&self) -> Vec<Value> {
        let own = self.value.get("security").or_else(|| self.document.get("security"));
        own.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// Its parameters and those of its path.
    pub fn parameters(&self) -> Vec<Value> {
        parameters::effective(self.item.get("parameters"), self.value.get("parameters"))
    }

    /// Whether it or its path has servers, which override the document's.
    pub fn has_own_servers(&self) -> bool {
        self.value.get("servers").or_else(|| self.item.get("servers")).is_some()
    }

    /// Its servers, those of its path, or the document's.
    pub fn servers(&self) -> Option<&'a Value> {
        let own = self.value.get("servers").or_else(|| self.item.get("servers"));
        own.or_else(|| self.document.get("servers"))
    }
}

/// What the changelog calls the operations of a document.
pub(super) fn names(document: &Value) -> Vec<String> {
    Operation::all(document).iter().map(Operation::name).collect()
}

/// The names of the parameters in a path, in their order.
pub(super) fn path_parameters(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

/// A path without the names of its parameters: two paths with the same one are
/// the same place for callers.
pub(super) fn template(path: &str) -> String {
    path_parameters(path)
        .iter()
        .fold(path.to_string(), |path, name| path.replace(&format!("{{{name}}}"), "{}"))
}

/// The keys of an object.
pub(super) fn keys(object: Option<&Value>) -> impl Iterator<Item = &String> {
    object.and_then(Value::as_object).into_iter().flat_map(Map::keys)
}
