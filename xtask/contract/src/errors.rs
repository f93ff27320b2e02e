//! The errors of an operation: one variant for each code that the examples of its responses name.

use crate::facts::primary_success;
use crate::names::{pascal, type_name};
use crate::node::Node;
use crate::schemas::{Field, Item, Reader, Record};
use crate::status;
use serde_json::Value;

/// An error that an operation may answer.
#[derive(Clone, Debug)]
pub struct ErrorVariant {
    /// Its name.
    pub name: String,
    /// What the document says of it.
    pub about: Option<String>,
    /// Its status.
    pub status: ErrorStatus,
    /// Its code; empty if it has none.
    pub code: String,
    /// Its body.
    pub body: ErrorBody,
    /// Its example.
    pub example: Value,
}

/// The status of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorStatus {
    /// One, as the `http` crate names it.
    One(String),
    /// Any of a range.
    Any,
}

/// The body of an error.
#[derive(Clone, Debug)]
pub enum ErrorBody {
    /// None.
    None,
    /// A record of this name; some members have these values, the variant holds the others.
    Record(String, Vec<(Field, Option<String>)>),
    /// A value of this type, which the variant holds.
    Whole(String),
}

/// Reads the errors of an operation.
pub fn errors<'a>(reader: &mut Reader<'a>, type_name: &str, node: &Node<'a>) -> Vec<ErrorVariant> {
    let responses = node.get("responses");
    let primary = primary_success(node).map(|(status, _)| status);
    let mut found: Vec<ErrorVariant> = Vec::new();
    for (status, response) in responses.iter().flat_map(Node::members) {
        let is_success = status.starts_with(['2', '3']) || Some(status) == primary;
        if is_success || status.starts_with("x-") {
            continue;
        }
        for variant in of_response(reader, type_name, status, &response) {
            if found.iter().any(|other| other.name == variant.name) {
                reader.refuse(
                    &response,
                    format!("has the error {} a second time", variant.name),
                    "give one of them another code",
                );
            } else {
                found.push(variant);
            }
        }
    }
    found
}

/// The errors of a response that operations share.
#[derive(Clone, Debug)]
pub struct SharedErrors {
    /// The name in Rust.
    pub name: String,
    /// The name in the document.
    pub key: String,
    /// The errors.
    pub variants: Vec<ErrorVariant>,
}

/// Reads the errors of the responses of `components`: those whose statuses their examples show.
pub fn shared_errors(reader: &mut Reader<'_>) -> Vec<SharedErrors> {
    let responses = reader.root.at(&["components", "responses"]);
    let mut shared = Vec::new();
    for (key, node) in responses.iter().flat_map(Node::members) {
        let known = reader.refusals.len();
        // Where it is used it has a status, and is read again.
        let variants = of_response(reader, key, "default", &node);
        reader.refusals.truncate(known);
        let is_named = |variant: &ErrorVariant| !variant.code.is_empty();
        if variants.is_empty() || !variants.iter().all(is_named) {
            continue;
        }
        if let Some(name) = reader.claim(&node, type_name(key), key) {
            shared.push(SharedErrors { name, key: key.to_string(), variants });
        }
    }
    shared
}

fn of_response<'a>(
    reader: &mut Reader<'a>,
    type_name: &str,
    status: &str,
    node: &Node<'a>,
) -> Vec<ErrorVariant> {
    let response =
        match node.text("$ref").map(|reference| (reference, reader.root.target(reference))) {
            Some((reference, None)) => {
                reader.refuse(node, format!("{reference} leads nowhere"), "add it to components");
                return Vec::new();
            }
            Some((_, Some(response))) => response,
            None => node.clone(),
        };
    let content = response.get("content");
    let kinds: Vec<_> = content.iter().flat_map(Node::members).collect();
    let about = response.text("description").map(str::to_string);
    let whole = |body| {
        let (name, status) = by_status(status)?;
        Some(ErrorVariant {
            name,
            about: about.clone(),
            status,
            code: String::new(),
            body,
            example: Value::Null,
        })
    };
    let media = match kinds.as_slice() {
        [] => {
            let variant = whole(ErrorBody::None);
            if variant.is_none() {
                reader.refuse(
                    node,
                    format!("{status} is no status of an error"),
                    "write one such as 404, 4XX or default",
                );
            }
            return variant.into_iter().collect();
        }
        [("application/json", media)] => media,
        _ => {
            reader.refuse(
                node,
                "an error with content other than application/json alone is not supported",
                "write that one",
            );
            return Vec::new();
        }
    };
    let Some(schema) = media.get("schema") else {
        reader.refuse(media, "JSON needs a `schema`", "add it");
        return Vec::new();
    };
    let hint =
        format!("{type_name}{}", by_status(status).map(|(name, _)| name).unwrap_or_default());
    let Some(shape) = reader.shape(&schema, &hint) else { return Vec::new() };
    let record = reader.items.iter().find_map(|item| match item {
        Item::Record(record) if record.name == shape.ty.rust => Some(record.clone()),
        _ => None,
    });
    let examples = media.get("examples");
    let examples: Vec<_> = examples.iter().flat_map(Node::members).collect();
    let mut variants = Vec::new();
    for (code, example) in &examples {
        let Some(record) = &record else { break };
        if let Some(variant) = of_example(reader, record, status, code, example) {
            variants.push(variant);
        }
    }
    if variants.is_empty() {
        let variant = whole(ErrorBody::Whole(shape.ty.rust));
        if variant.is_none() {
            reader.refuse(
                node,
                format!("{status} is no status of an error"),
                "write one such as 404, 4XX or default",
            );
        }
        variants.extend(variant);
    }
    variants
}

/// The error that an example shows, if one of its members is the example's name: its code.
fn of_example(
    reader: &mut Reader<'_>,
    record: &Record,
    status: &str,
    code: &str,
    example: &Node<'_>,
) -> Option<ErrorVariant> {
    let value = example.get("value")?;
    value.members().find(|(_, member)| member.value == code)?;
    let numbers = value.members().filter_map(|(_, member)| member.value.as_u64());
    let own = numbers
        .filter_map(|number| u16::try_from(number).ok())
        .find(|number| is_of(*number, status));
    let Some((number, (_, constant))) =
        status.parse().ok().or(own).and_then(|number| Some((number, status::names(number)?)))
    else {
        reader.refuse(
            &value,
            format!("shows an error of {status} without its status"),
            format!("add a member with it, or write the status instead of {status}"),
        );
        return None;
    };
    let Some(name) = pascal(code) else {
        reader.refuse(
            example,
            format!("{code:?} is no name in Rust"),
            "rename it: letters, then letters, digits or _",
        );
        return None;
    };
    let fields = record.fields.iter().map(|field| {
        let fixed = match value.value.get(&field.key) {
            Some(Value::String(text)) if text == code => code_value(reader, field, code, &value),
            Some(Value::Number(sent)) if sent.as_u64() == Some(number.into()) => {
                Some(number.to_string())
            }
            _ => None,
        };
        (field.clone(), fixed)
    });
    let fields = fields.collect();
    let about = about_code(reader, record, code);
    Some(ErrorVariant {
        name,
        about,
        status: ErrorStatus::One(constant),
        code: code.to_string(),
        body: ErrorBody::Record(record.name.clone(), fields),
        example: value.value.clone(),
    })
}

fn about_code(reader: &Reader<'_>, record: &Record, code: &str) -> Option<String> {
    let types: Vec<&str> = record.fields.iter().map(|field| field.shape.ty.rust.as_str()).collect();
    reader.items.iter().find_map(|item| match item {
        Item::Values(values) if types.contains(&values.name.as_str()) => {
            let (.., about) = values.values.iter().find(|(_, value, _)| value == code)?;
            about.clone()
        }
        _ => None,
    })
}

/// A code as Rust writes it: a variant, or a text. None if the member has listed values without it.
fn code_value(
    reader: &mut Reader<'_>,
    field: &Field,
    code: &str,
    example: &Node<'_>,
) -> Option<String> {
    let listed = reader.items.iter().find_map(|item| match item {
        Item::Values(values) if values.name == field.shape.ty.rust => Some(values),
        _ => None,
    });
    let Some(values) = listed else { return Some(format!("{code:?}.to_string()")) };
    let variant = values.values.iter().find(|(_, value, _)| value == code);
    let path = variant.map(|(variant, ..)| format!("{}::{variant}", values.name));
    if path.is_none() {
        let member = example.get(&field.key).unwrap_or_else(|| example.clone());
        reader.refuse(
            &member,
            format!("{code:?} is not among the values of the schema"),
            "add it there",
        );
    }
    path
}

fn is_of(number: u16, status: &str) -> bool {
    match status {
        "4XX" => (400..500).contains(&number),
        "5XX" => (500..600).contains(&number),
        "default" => (400..600).contains(&number),
        _ => status == number.to_string(),
    }
}

/// The variant for all errors of a response.
fn by_status(status: &str) -> Option<(String, ErrorStatus)> {
    match status {
        "4XX" => Some(("ClientError".to_string(), ErrorStatus::Any)),
        "5XX" => Some(("ServerError".to_string(), ErrorStatus::Any)),
        "default" => Some(("Other".to_string(), ErrorStatus::Any)),
        _ => {
            let (name, constant) = status::names(status.parse().ok()?)?;
            Some((name, ErrorStatus::One(constant)))
        }
    }
}
