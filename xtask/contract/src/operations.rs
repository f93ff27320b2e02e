//! The operations of a document, read as methods of a trait.

use crate::errors::{ErrorVariant, errors};
use crate::facts::{METHODS, PLACES, is_json, primary_success};
use crate::names::{pascal, snake};
use crate::node::Node;
use crate::schemas::{Field, Reader, Record, Type};
use crate::status;
use http::HeaderName;
use std::collections::{BTreeMap, BTreeSet};

/// An operation.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its `operationId`.
    pub id: String,
    /// The name of its method.
    pub method_name: String,
    /// What the names of its types begin with.
    pub type_name: String,
    /// Its method, as dropshot writes it.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it is deprecated.
    pub is_deprecated: bool,
    /// Its summary and its description.
    pub texts: (Option<String>, Option<String>),
    /// The parameters of each place that has some.
    pub parameters: Vec<ParameterSet>,
    /// Its body.
    pub body: Option<RequestBody>,
    /// Whether the body may be absent.
    pub is_body_optional: bool,
    /// Its successes; dropshot documents the first.
    pub successes: Vec<SuccessVariant>,
    /// Its errors.
    pub errors: Vec<ErrorVariant>,
    /// Whether it takes a key.
    pub has_caller: bool,
}

impl Operation {
    /// Whether the handler may get no body. Octets that are absent are no octets.
    pub fn is_body_option(&self) -> bool {
        self.is_body_optional && matches!(self.body, Some(RequestBody::Json(_)))
    }
}

/// The parameters of one place.
#[derive(Clone, Debug)]
pub struct ParameterSet {
    /// `Path`, `Query` or `Header`.
    pub place: &'static str,
    /// The parameters, of which the record has the name.
    pub record: Record,
}

/// A success.
#[derive(Clone, Debug)]
pub struct SuccessVariant {
    /// Its name.
    pub name: String,
    /// Its status, as the `http` crate names it; any, if there is none.
    pub status: Option<String>,
    /// Its description.
    pub description: String,
    /// What it holds.
    pub body: SuccessBody,
    /// The headers that the handler sets.
    pub headers: Vec<ResponseHeader>,
}

/// A header of a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHeader {
    /// Its name in Rust.
    pub name: String,
    /// Its name in the document.
    pub key: String,
    /// Its description.
    pub description: Option<String>,
    /// Whether it is always there.
    pub is_required: bool,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// JSON of this type.
    Json(Type),
    /// Octets.
    Other,
}

/// What a success holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuccessBody {
    /// Nothing.
    None,
    /// JSON of this type.
    Json(Type),
    /// A response with content that is no JSON.
    Other,
}

/// Reads every operation.
pub fn operations(reader: &mut Reader<'_>) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let paths = reader.root.get("paths");
    let paths = paths.iter().flat_map(Node::members).filter(|(path, _)| !path.starts_with("x-"));
    for (path, item) in paths {
        check_path(reader, path, &item);
        for (method, node) in item.members().filter(|(key, _)| METHODS.contains(key)) {
            if method == "trace" {
                reader.refuse(&node, "dropshot serves no TRACE", "leave the operation out");
            } else if is_new(reader, &mut ids, &node) {
                operations.extend(operation(reader, (path, &item), method, &node));
            }
        }
    }
    operations
}

/// Whether the operation has a name in Rust that none before it has.
fn is_new(reader: &mut Reader<'_>, ids: &mut BTreeMap<String, String>, node: &Node<'_>) -> bool {
    let Some(id) = node.get("operationId") else {
        reader.refuse(node, "an operation needs an `operationId`", "add it");
        return false;
    };
    let text = id.value.as_str().unwrap_or_default();
    let (Some(name), Some(_)) = (snake(text), pascal(text)) else {
        reader.refuse(
            &id,
            format!("{text:?} is no name in Rust"),
            "rename it: letters, then letters, digits or _",
        );
        return false;
    };
    if let Some(other) = ids.insert(name.clone(), id.pointer.clone()) {
        reader.refuse(&id, format!("is named {name} in Rust, as {other} is"), "rename one of them");
        return false;
    }
    true
}

/// What dropshot's router cannot tell apart.
fn check_path(reader: &mut Reader<'_>, path: &str, item: &Node<'_>) {
    let known: Vec<&str> =
        METHODS.into_iter().chain(["summary", "description", "parameters"]).collect();
    reader.only(item, "a path", &known);
    for segment in path.split('/') {
        let is_variable = segment.starts_with('{') && segment.ends_with('}') && segment.len() > 2;
        let inner = segment.trim_start_matches('{').trim_end_matches('}');
        if segment.contains(['{', '}']) && (!is_variable || inner.contains(['{', '}'])) {
            reader.refuse(
                item,
                format!("{segment} is more than a parameter"),
                "write a parameter as a whole segment",
            );
        }
    }
    if !path.starts_with('/') || path.ends_with('/') && path.len() > 1 || path.contains("//") {
        reader.refuse(item, "a path begins with `/` and has no empty segment", "write it so");
    }
    let root = reader.root.clone();
    let paths = root.get("paths");
    for (other, _) in paths.iter().flat_map(Node::members) {
        if let Some((own, others)) = conflict(path, other).filter(|_| other < path) {
            reader.refuse(
                item,
                format!(
                    "{own} stands where {other} has {others}, and dropshot does not tell them apart"
                ),
                "use the same parameter, or another path",
            );
            return;
        }
    }
}

/// The first segments in which two paths differ, if one of them is a parameter.
fn conflict<'p>(path: &'p str, other: &'p str) -> Option<(&'p str, &'p str)> {
    let mut pairs = path.split('/').zip(other.split('/'));
    let (own, others) = pairs.find(|(own, others)| own != others)?;
    (own.starts_with('{') || others.starts_with('{')).then_some((own, others))
}

fn operation<'a>(
    reader: &mut Reader<'a>,
    (path, item): (&str, &Node<'a>),
    method: &str,
    node: &Node<'a>,
) -> Option<Operation> {
    let known = [
        "operationId",
        "tags",
        "summary",
        "description",
        "parameters",
        "requestBody",
        "responses",
        "deprecated",
        "security",
        "externalDocs",
    ];
    reader.only(node, "an operation", &known);
    let id_node = node.get("operationId")?;
    let id = node.text("operationId")?;
    let (type_name, method_name) = (pascal(id)?, snake(id)?);
    for end in ["Success", "Error"] {
        reader.claim(&id_node, Some(format!("{type_name}{end}")), id)?;
    }
    let all = parameter_nodes(reader, item, node);
    check_variables(reader, path, node, &all);
    let parameters = parameters(reader, &type_name, &all);
    let body = node.get("requestBody").and_then(|body| reader.component(&body, "requestBodies"));
    let is_body_optional = body.as_ref().is_some_and(|body| !body.is("required"));
    let body = body.and_then(|body| request_body(reader, &type_name, &body));
    let successes = successes(reader, &type_name, node);
    let errors = errors(reader, &type_name, node);
    let tags = node.get("tags");
    let tags = tags.iter().flat_map(Node::elements).filter_map(|tag| tag.value.as_str());
    let text = |key: &str| node.text(key).map(str::to_string);
    Some(Operation {
        id: id.to_string(),
        method_name,
        type_name,
        method: method.to_uppercase(),
        path: path.to_string(),
        tags: tags.map(str::to_string).collect(),
        is_deprecated: node.is("deprecated"),
        texts: (text("summary"), text("description")),
        parameters,
        body,
        is_body_optional,
        successes,
        errors,
        has_caller: has_security(reader, node),
    })
}

/// Whether an operation takes a key: each way that its security names is one.
fn has_security(reader: &mut Reader<'_>, node: &Node<'_>) -> bool {
    let Some(security) = node.get("security").or(reader.root.get("security")) else { return false };
    let schemes = reader.root.at(&["components", "securitySchemes"]);
    let mut ways = 0;
    for way in security.elements() {
        ways += 1;
        if way.members().next().is_none() {
            reader.refuse(&way, "a key that may be absent is not supported", "leave it out");
        }
        for (name, scheme) in way.members() {
            if schemes.as_ref().is_none_or(|schemes| schemes.get(name).is_none()) {
                let add = "add it, or name another";
                reader.refuse(&scheme, format!("{name:?} is no scheme of components"), add);
            }
        }
    }
    ways > 0
}

/// The parameters of an operation, and those of its path that it does not replace.
fn parameter_nodes<'a>(
    reader: &mut Reader<'a>,
    item: &Node<'a>,
    operation: &Node<'a>,
) -> Vec<Node<'a>> {
    let mut found: Vec<Node<'a>> = Vec::new();
    for list in [operation, item].into_iter().filter_map(|node| node.get("parameters")) {
        let own = found.clone();
        let is_replaced = |node: &Node<'_>| {
            own.iter().any(|own| ["in", "name"].iter().all(|key| own.text(key) == node.text(key)))
        };
        let all = list.elements().filter_map(|node| reader.component(&node, "parameters"));
        let all: Vec<_> = all.filter(|node| !is_replaced(node)).collect();
        found.extend(all);
    }
    found
}

fn parameters<'a>(reader: &mut Reader<'a>, type_name: &str, all: &[Node<'a>]) -> Vec<ParameterSet> {
    let mut sets: Vec<ParameterSet> = Vec::new();
    for parameter in all {
        let Some((place, field)) = parameter_field(reader, type_name, parameter, &sets) else {
            continue;
        };
        match sets.iter_mut().find(|set| set.place == place) {
            Some(set) => set.record.fields.push(field),
            None => {
                let name = format!("{type_name}{place}");
                let Some(name) = reader.claim(parameter, Some(name.clone()), &name) else {
                    continue;
                };
                let record = Record {
                    schema_name: name.clone(),
                    name,
                    description: None,
                    fields: vec![field],
                    is_closed: false,
                };
                sets.push(ParameterSet { place, record });
            }
        }
    }
    sets.sort_by_key(|set| PLACES.iter().position(|place| place.eq_ignore_ascii_case(set.place)));
    sets
}

/// Each parameter of a path is declared, and no other.
fn check_variables(reader: &mut Reader<'_>, path: &str, node: &Node<'_>, all: &[Node<'_>]) {
    let in_path =
        path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let in_path: Vec<&str> = in_path.collect();
    let in_place = all.iter().filter(|parameter| parameter.text("in") == Some("path"));
    let declared: Vec<&str> = in_place.filter_map(|parameter| parameter.text("name")).collect();
    let list = node.get("parameters").unwrap_or(node.clone());
    for name in in_path.iter().filter(|name| !declared.contains(*name)) {
        reader.refuse(
            &list,
            format!("the path has {{{name}}}, which is no parameter of the operation"),
            "add it here",
        );
    }
    let mut known = BTreeSet::new();
    for name in in_path.iter().filter(|name| !known.insert(**name)) {
        reader.refuse(node, format!("the path has {{{name}}} twice"), "rename one of them");
    }
    for name in declared.iter().filter(|name| !in_path.contains(name)) {
        reader.refuse(
            &list,
            format!("{name:?} is a path parameter that the path has not"),
            "remove it",
        );
    }
}

fn parameter_field<'a>(
    reader: &mut Reader<'a>,
    type_name: &str,
    node: &Node<'a>,
    sets: &[ParameterSet],
) -> Option<(&'static str, Field)> {
    reader.only(
        node,
        "a parameter",
        &[
            "in",
            "name",
            "description",
            "required",
            "schema",
            "example",
            "examples",
            "deprecated",
            "style",
            "explode",
            "allowEmptyValue",
            "allowReserved",
        ],
    );
    let place = match node.text("in") {
        Some("path") => "Path",
        Some("query") => "Query",
        Some("header") => "Header",
        other => {
            let place = other.unwrap_or_default();
            reader.refuse(
                node,
                format!("a parameter in {place:?} is not supported"),
                "put it into path, query or header",
            );
            return None;
        }
    };
    let (Some(key), Some(schema)) = (node.text("name"), node.get("schema")) else {
        reader.refuse(node, "a parameter needs `name` and `schema`", "add them");
        return None;
    };
    let own = sets.iter().find(|set| set.place == place);
    let fields = own.map_or(&[][..], |set| &set.record.fields);
    let name_node = node.get("name").unwrap_or(node.clone());
    let name = if place == "Header" {
        header_name(reader, &name_node, key, &["Accept", "Content-Type", "Authorization"])?;
        reader.field_name(&name_node, &key.to_lowercase(), fields)?
    } else {
        reader.field_name(&name_node, key, fields)?
    };
    let hint = format!("{type_name}{}", pascal(key).unwrap_or_default());
    let mut shape = reader.shape(&schema, &hint)?;
    if shape.rule.is_none() || shape.is_list {
        reader.refuse(
            &schema,
            "dropshot has no parameter of this schema",
            "write a text, a number, an integer or a boolean",
        );
        return None;
    }
    if node.text("style").is_some_and(|style| !["form", "simple"].contains(&style)) {
        reader.refuse(node, "a parameter of this style is not supported", "leave out `style`");
        return None;
    }
    let is_required = node.is("required");
    if place == "Path" && !is_required {
        reader.refuse(node, "a parameter in the path is always there", "write `required: true`");
    }
    if let Some(inner) = schema.get("description") {
        reader.refuse(&inner, "is lost beside the description of the parameter", "write it there");
    }
    shape.description = node.text("description").map(str::to_string);
    Some((place, Field { name, key: key.to_string(), is_required, shape }))
}

fn request_body<'a>(
    reader: &mut Reader<'a>,
    type_name: &str,
    node: &Node<'a>,
) -> Option<RequestBody> {
    if !is_json(node) {
        return Some(RequestBody::Other);
    }
    let media = node.at(&["content", "application/json"])?;
    let Some(schema) = media.get("schema") else {
        reader.refuse(&media, "a body needs a `schema`", "add it");
        return None;
    };
    Some(RequestBody::Json(reader.inner(&schema, &format!("{type_name}Body"))?.ty))
}

fn successes<'a>(reader: &mut Reader<'a>, type_name: &str, node: &Node<'a>) -> Vec<SuccessVariant> {
    let primary = primary_success(node).map(|(status, _)| status);
    let Some(primary) = primary else {
        let place = node.get("responses").unwrap_or(node.clone());
        reader.refuse(
            &place,
            "an operation needs a success with a status of its own",
            "write 200 or the like",
        );
        return Vec::new();
    };
    let responses = node.get("responses");
    let is_success = |status: &str| status.starts_with(['2', '3']) || status == primary;
    let mut found: Vec<SuccessVariant> = Vec::new();
    for (status, response) in responses.iter().flat_map(Node::members) {
        if !is_success(status) {
            continue;
        }
        let Some(variant) = success(reader, type_name, status, &response) else {
            continue;
        };
        let index = if status == primary { 0 } else { found.len() };
        found.insert(index, variant);
    }
    found
}

fn success<'a>(
    reader: &mut Reader<'a>,
    type_name: &str,
    status: &str,
    node: &Node<'a>,
) -> Option<SuccessVariant> {
    if status == "default" {
        let description = node.text("description").unwrap_or_default().to_string();
        let (name, body) = ("Any".to_string(), SuccessBody::Other);
        let headers = response_headers(reader, node);
        return Some(SuccessVariant { name, status: None, description, body, headers });
    }
    let Some((name, constant)) = status.parse().ok().and_then(status::names) else {
        reader.refuse(node, format!("{status} is no status of a success"), "write one such as 200");
        return None;
    };
    let response = reader.component(node, "responses")?;
    let content = response.get("content");
    let kinds: Vec<_> = content.iter().flat_map(Node::members).collect();
    if let Some(content) = &content
        && ["204", "205", "304"].contains(&status)
    {
        reader.refuse(content, format!("a response of {status} has no content"), "leave it out");
    }
    let body = match kinds.as_slice() {
        [] => SuccessBody::None,
        [("application/json", media)] => {
            let Some(schema) = media.get("schema") else {
                reader.refuse(media, "JSON needs a `schema`", "add it");
                return None;
            };
            let hint = format!("{type_name}{name}");
            SuccessBody::Json(reader.inner(&schema, &hint)?.ty)
        }
        _ => SuccessBody::Other,
    };
    let description = response.text("description").unwrap_or_default().to_string();
    let headers = response_headers(reader, &response);
    Some(SuccessVariant { name, status: Some(constant), description, body, headers })
}

/// The headers that the response itself describes. One of `components` is shared: what serves the
/// operations sets it.
fn response_headers(reader: &mut Reader<'_>, response: &Node<'_>) -> Vec<ResponseHeader> {
    let mut found: Vec<ResponseHeader> = Vec::new();
    let headers = response.get("headers");
    for (key, node) in headers.iter().flat_map(Node::members) {
        if node.text("$ref").is_some() {
            continue;
        }
        let Some(name) = header_name(reader, &node, key, &["Content-Type"]) else { continue };
        if name == "body" || found.iter().any(|other| other.name == name) {
            reader.refuse(
                &node,
                format!("is named {name} in Rust, as another part is"),
                "rename one of them",
            );
            continue;
        }
        let description = node.text("description").map(str::to_string);
        let is_required = node.is("required");
        found.push(ResponseHeader { name, key: key.to_string(), description, is_required });
    }
    found
}

/// The name of a header in Rust: it has no letter case. OpenAPI ignores those of some names.
fn header_name(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    key: &str,
    ignored: &[&str],
) -> Option<String> {
    if ignored.iter().any(|name| name.eq_ignore_ascii_case(key)) {
        reader.refuse(node, format!("OpenAPI ignores a header {key:?} here"), "leave it out");
        return None;
    }
    let name = snake(&key.to_lowercase()).filter(|_| HeaderName::try_from(key).is_ok());
    if name.is_none() {
        reader.refuse(
            node,
            format!("{key:?} is no name of a header and in Rust"),
            "rename it: letters, then letters, digits, - or _",
        );
    }
    name
}
