//! Ways through a document that the client's parts share.

use crate::facts::METHODS;
use crate::node::Node;
use crate::refusal::Refusal;
use serde_json::Value;

/// The places of a document that the client cannot carry.
#[derive(Default)]
pub struct Places(pub Vec<Refusal>);

impl Places {
    /// Notes one.
    pub fn refuse(&mut self, node: &Node<'_>, found: impl Into<String>, fix: impl Into<String>) {
        let refusal = Refusal::new(&node.pointer, found, fix);
        if !self.0.contains(&refusal) {
            self.0.push(refusal);
        }
    }

    /// Notes a value that cannot be a variant.
    pub fn refuse_variant(&mut self, node: &Node<'_>, text: &str) {
        let found = format!("{text:?} cannot name a variant of an enum beside `Other`");
        self.refuse(node, found, "use the form of order_not_found");
    }
}

/// The operations: the path, the path's item, the method, and the operation.
pub fn operations<'a>(root: &Node<'a>) -> Vec<(&'a str, Node<'a>, &'a str, Node<'a>)> {
    let paths = root.get("paths");
    let items = paths.iter().flat_map(Node::members);
    items
        .flat_map(|(path, item)| {
            let members: Vec<_> = item.members().collect();
            let methods = members.into_iter().filter(|(key, _)| METHODS.contains(key));
            methods.map(move |(method, node)| (path, item.clone(), method, node))
        })
        .collect()
}

/// The responses of an operation, and their statuses.
pub fn responses<'a>(root: &Node<'a>, operation: &Node<'a>) -> Vec<(&'a str, Node<'a>)> {
    let responses = operation.get("responses");
    let responses = responses.iter().flat_map(Node::members);
    let of = responses.filter(|(status, _)| !status.starts_with("x-"));
    of.filter_map(|(status, response)| Some((status, resolved(root, &response)?))).collect()
}

/// The errors among them, of all operations.
pub fn error_responses<'a>(root: &Node<'a>) -> Vec<(&'a str, Node<'a>)> {
    let operations = operations(root).into_iter();
    let all = operations.flat_map(|(.., operation)| responses(root, &operation));
    all.filter(|(status, _)| is_error(status)).collect()
}

/// Whether a response of this status is an error.
pub fn is_error(status: &str) -> bool {
    !status.starts_with(['1', '2', '3'])
}

/// What a node is, or refers to.
pub fn resolved<'a>(root: &Node<'a>, node: &Node<'a>) -> Option<Node<'a>> {
    node.text("$ref").map_or(Some(node.clone()), |reference| root.target(reference))
}

/// A schema without references.
pub fn schema(root: &Node<'_>, node: &Node<'_>) -> Value {
    let Some(target) = resolved(root, node) else { return Value::Null };
    let all = target.get("allOf").and_then(|all| all.elements().next());
    match (node.text("$ref"), all) {
        (_, Some(first)) => schema(root, &first),
        (Some(_), None) => schema(root, &target),
        (None, None) => target.value.clone(),
    }
}

/// A value of a schema, as JSON: its example, or the simplest.
pub fn sample(root: &Node<'_>, node: &Node<'_>) -> Value {
    let Some(node) = resolved(root, node) else { return Value::Null };
    if let Some(example) = node.get("example").or_else(|| node.get("default")) {
        return example.value.clone();
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        if let Some(first) = node.get(key).and_then(|all| all.elements().next()) {
            return sample(root, &first);
        }
    }
    let listed = node.get("enum").or_else(|| node.get("x-extensible-enum"));
    if let Some(first) = listed.and_then(|listed| listed.elements().next()) {
        return first.value.clone();
    }
    match node.text("type") {
        Some("integer" | "number") => node.get("minimum").map_or(1.into(), |of| of.value.clone()),
        Some("boolean") => Value::Bool(true),
        Some("array") => Value::Array(Vec::new()),
        Some("string") => Value::String(text_sample(&node)),
        _ => {
            let required = node.get("required");
            let required = required.iter().flat_map(Node::elements);
            let keys = required.filter_map(|key| key.value.as_str());
            let properties = node.get("properties");
            let member = |key: &str| {
                let property = properties.as_ref()?.get(key)?;
                Some((key.to_string(), sample(root, &property)))
            };
            Value::Object(keys.filter_map(member).collect())
        }
    }
}

fn text_sample(node: &Node<'_>) -> String {
    match node.text("format") {
        Some("date-time") => "2026-12-24T09:30:00Z".to_string(),
        Some("date") => "2026-12-24".to_string(),
        Some("uuid") => "5a2bd2f9-1c8e-4c5b-9a38-5d7f0f6c2e11".to_string(),
        _ => {
            let length = node.get("minLength").and_then(|of| of.value.as_u64()).unwrap_or(1);
            "a".repeat(usize::try_from(length).unwrap_or(1).max(1))
        }
    }
}
