//! Whether a document is one of OpenAPI 3.0, and all of its references lead somewhere.

use crate::facts::METHODS;
use crate::node::Node;
use crate::schemas::Reader;
use openapiv3::{
    Components, Header, Info, OpenAPI, Operation, Parameter, ReferenceOr, RequestBody, Response,
    Schema, SecurityScheme, Server, Tag,
};
use serde_json::Value;

/// The keys of a document.
const PARTS: [&str; 8] =
    ["openapi", "info", "servers", "security", "tags", "paths", "components", "externalDocs"];

/// Refuses what is no OpenAPI 3.0. Parts are read one by one, so that a refusal names the place.
pub fn check(reader: &mut Reader<'_>) {
    let root = reader.root.clone();
    let version = root.text("openapi").unwrap_or_default();
    if version != "3.0" && !version.starts_with("3.0.") {
        let found = if version.is_empty() {
            "has no `openapi`".to_string()
        } else {
            format!("is of OpenAPI {version}")
        };
        let place = root.get("openapi").unwrap_or(root.clone());
        reader.refuse(&place, format!("{found}"), "write an OpenAPI 3.0 document");
        return;
    }
    reader.only(&root, "a document", &PARTS);
    for key in ["info", "paths"] {
        if root.get(key).is_none() {
            reader.refuse(&root, format!("has no `{key}`"), "add it");
        }
    }
    references(reader, &root);
    parts(reader, &root);
    // Whatever is left.
    if reader.refusals.is_empty()
        && let Err(error) = serde_json::from_value::<OpenAPI>(root.value.clone())
    {
        reader.refuse(
            &root,
            format!("is no OpenAPI 3.0: {error}"),
            "write it as the specification says",
        );
    }
}

fn parts(reader: &mut Reader<'_>, root: &Node<'_>) {
    let members = |path: &[&str]| -> Vec<Node<'_>> {
        root.at(path).iter().flat_map(Node::members).map(|(_, node)| node).collect()
    };
    let elements =
        |key: &str| -> Vec<Node<'_>> { root.get(key).iter().flat_map(Node::elements).collect() };
    read::<Info>(reader, root.get("info"), "the title and the version of a document");
    read::<Server>(reader, elements("servers"), "a server");
    read::<Tag>(reader, elements("tags"), "a tag");
    read::<ReferenceOr<Schema>>(reader, members(&["components", "schemas"]), "a schema");
    read::<ReferenceOr<Response>>(reader, members(&["components", "responses"]), "a response");
    read::<ReferenceOr<Header>>(reader, members(&["components", "headers"]), "a header");
    let parameters = members(&["components", "parameters"]).into_iter();
    let of_paths = members(&["paths"]).into_iter().filter_map(|path| path.get("parameters"));
    let of_paths = of_paths.flat_map(|list| list.elements().collect::<Vec<_>>());
    read::<ReferenceOr<Parameter>>(reader, parameters.chain(of_paths), "a parameter");
    read::<ReferenceOr<RequestBody>>(reader, members(&["components", "requestBodies"]), "a body");
    read::<ReferenceOr<SecurityScheme>>(
        reader,
        members(&["components", "securitySchemes"]),
        "a security scheme",
    );
    let operations = members(&["paths"])
        .iter()
        .flat_map(Node::members)
        .filter(|(key, _)| METHODS.contains(key))
        .map(|(_, node)| node)
        .collect::<Vec<_>>();
    for operation in &operations {
        let inner = |key: &str| {
            operation
                .get(key)
                .iter()
                .flat_map(Node::members)
                .map(|(_, node)| node)
                .collect::<Vec<_>>()
        };
        let parameters: Vec<_> =
            operation.get("parameters").iter().flat_map(Node::elements).collect();
        read::<ReferenceOr<Parameter>>(reader, parameters, "a parameter");
        read::<ReferenceOr<RequestBody>>(reader, operation.get("requestBody"), "a body");
        let responses =
            inner("responses").into_iter().filter(|node| !node.pointer.contains("/responses/x-"));
        read::<ReferenceOr<Response>>(reader, responses, "a response");
    }
    if reader.refusals.is_empty() {
        read::<Operation>(reader, operations, "an operation");
        read::<Components>(reader, root.get("components"), "the components of a document");
    }
}

fn read<'n, T: serde::de::DeserializeOwned>(
    reader: &mut Reader<'_>,
    nodes: impl IntoIterator<Item = Node<'n>>,
    what: &str,
) {
    for node in nodes {
        if let Err(error) = serde_json::from_value::<T>(node.value.clone()) {
            let reason = error.to_string();
            let reason = if reason.contains("untagged enum") {
                String::new()
            } else {
                format!(" ({reason})")
            };
            reader.refuse(
                &node,
                format!("is not {what} of OpenAPI 3.0{reason}"),
                "write it as the specification says",
            );
        }
    }
}

fn references(reader: &mut Reader<'_>, node: &Node<'_>) {
    // A property may have that name.
    let is_properties = node.pointer.ends_with("/properties");
    if let Some(reference) = node.get("$ref").filter(|_| !is_properties) {
        let text = reference.value.as_str().unwrap_or_default();
        if !text.starts_with("#/") {
            reader.refuse(
                &reference,
                format!("{text:?} leads out of the document"),
                "copy what it leads to into components",
            );
        } else if reader.root.target(text).is_none() {
            reader.refuse(&reference, format!("{text} leads nowhere"), "add what it names");
        }
    }
    let is_free = |key: &str| {
        ["example", "examples", "default", "enum"].contains(&key) || key.starts_with("x-")
    };
    match node.value {
        Value::Object(_) => node
            .members()
            .filter(|(key, _)| !is_free(key) || is_properties)
            .for_each(|(_, member)| references(reader, &member)),
        _ => node.elements().for_each(|element| references(reader, &element)),
    }
}
