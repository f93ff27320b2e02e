//! The body of errors, which is the same for all operations, and the codes in it.

use super::document::{Places, error_responses, resolved};
use crate::names::pascal;
use crate::node::Node;
use http::StatusCode;
use serde_json::{Value, json};

/// The body of errors.
pub struct Errors {
    /// The name of its schema.
    pub schema: String,
    /// The member with the code, and the one with the text for people.
    pub code: String,
    pub message: Option<String>,
    /// The member with the status.
    pub status: Option<String>,
    /// An example.
    pub example: Value,
    /// The codes of all versions.
    pub codes: Vec<Code>,
}

/// A code.
pub struct Code {
    /// The variant.
    pub variant: String,
    /// The text.
    pub text: String,
    /// What it means.
    pub about: String,
    /// The status that it comes with.
    pub status: u16,
}

/// An example of an error: the status of its response, its code, and its value.
pub struct Example<'a> {
    pub status: &'a str,
    pub code: &'a str,
    pub value: &'a Value,
}

impl Errors {
    /// The body of errors of the first of these documents, and the codes of all.
    pub fn read(documents: &[&Value], places: &mut Places) -> Option<Errors> {
        let root = Node::root(documents.first()?);
        let mut schema: Option<String> = None;
        for (_, response) in error_responses(&root) {
            let Some(media) = response.at(&["content", "application/json"]) else { continue };
            let name = media.at(&["schema", "$ref"]).and_then(|of| of.value.as_str());
            let name = name.and_then(|name| name.strip_prefix("#/components/schemas/"));
            match (name, &schema) {
                (Some(name), None) => schema = Some(name.to_string()),
                (Some(name), Some(other)) if name == other => {}
                _ => {
                    let other = schema.as_deref().unwrap_or("a schema of `components`");
                    places.refuse(
                        &media,
                        format!(
                            "an error with another schema than {other} is not supported by the \
                             client, which has one type for the bodies of errors"
                        ),
                        "use that schema",
                    );
                }
            }
        }
        let Some(schema) = schema else {
            places.refuse(
                &root,
                "the client needs errors with a body",
                "add responses of errors with JSON of one schema",
            );
            return None;
        };
        let examples: Vec<Example<'_>> =
            documents.iter().flat_map(|document| examples(&Node::root(document))).collect();
        let node = root.at(&["components", "schemas", &schema])?;
        let Some(code) = code_member(&node, &examples) else {
            places.refuse(
                &node,
                "has no member by which programs tell errors apart",
                "name each example of an error by its code, or write `x-extensible-enum`",
            );
            return None;
        };
        let example = examples.first().map(|of| of.value.clone()).unwrap_or(json!({}));
        let of = |is: &dyn Fn(&Value) -> bool| {
            let members = example.as_object().into_iter().flatten();
            members
                .filter(|(key, value)| **key != code && is(value))
                .map(|(key, _)| key.clone())
                .next()
        };
        let message = of(&|value| value.is_string());
        let status = of(&|value| value.as_u64().is_some_and(|of| (400..600).contains(&of)));
        let codes = codes(documents, &schema, &code, &examples, places);
        Some(Errors { schema, code, message, status, example, codes })
    }

    /// The variant of a code.
    pub fn variant(&self, text: &str) -> Option<&Code> {
        self.codes.iter().find(|code| code.text == text)
    }
}

fn examples<'a>(root: &Node<'a>) -> Vec<Example<'a>> {
    let responses = error_responses(root).into_iter();
    responses.flat_map(|(status, response)| of_response(status, &response)).collect()
}

/// The examples of a response, each named by its code.
pub fn of_response<'a>(status: &'a str, response: &Node<'a>) -> Vec<Example<'a>> {
    let examples = response.at(&["content", "application/json", "examples"]);
    let examples = examples.iter().flat_map(Node::members);
    examples
        .filter_map(|(code, example)| {
            let value = example.get("value")?.value;
            value.as_object()?.values().find(|member| *member == code)?;
            Some(Example { status, code, value })
        })
        .collect()
}

fn code_member(schema: &Node<'_>, examples: &[Example<'_>]) -> Option<String> {
    let of_example = examples.iter().find_map(|example| {
        let members = example.value.as_object()?;
        members.iter().find(|(_, value)| *value == example.code).map(|(key, _)| key.clone())
    });
    let properties = schema.get("properties");
    let mut properties = properties.iter().flat_map(Node::members);
    of_example.or_else(|| {
        let listed = properties.find(|(_, of)| of.get("x-extensible-enum").is_some());
        listed.map(|(key, _)| key.to_string())
    })
}

fn codes(
    documents: &[&Value],
    schema: &str,
    member: &str,
    examples: &[Example<'_>],
    places: &mut Places,
) -> Vec<Code> {
    let mut codes: Vec<Code> = Vec::new();
    let add =
        |text: &str, about: &str, node: &Node<'_>, codes: &mut Vec<Code>, places: &mut Places| {
            if codes.iter().any(|code| code.text == text) {
                return;
            }
            match variant(text) {
                Some(variant) => codes.push(Code {
                    variant,
                    text: text.to_string(),
                    about: about.to_string(),
                    status: status(text, examples),
                }),
                None => places.refuse_variant(node, text),
            }
        };
    for document in documents {
        let root = Node::root(document);
        let Some(code) = root.at(&["components", "schemas", schema, "properties", member]) else {
            continue;
        };
        let listed = code.get("x-extensible-enum").or_else(|| code.get("enum"));
        for text in listed.iter().flat_map(Node::elements) {
            let about = code.at(&["x-enumDescriptions", text.value.as_str().unwrap_or_default()]);
            let about = about.and_then(|about| about.value.as_str()).unwrap_or_default();
            add(text.value.as_str().unwrap_or_default(), about, &text, &mut codes, places);
        }
        for example in self::examples(&root) {
            add(example.code, "", &root, &mut codes, places);
        }
    }
    codes
}

/// The status of a code: that of its examples, the one whose reason is its name, or 400: what no
/// operation answers must not look like a failure that a repetition mends.
fn status(code: &str, examples: &[Example<'_>]) -> u16 {
    let of_example = examples.iter().filter(|example| example.code == code).find_map(|example| {
        let numbers = example.value.as_object()?.values().filter_map(Value::as_u64);
        let own =
            numbers.filter_map(|of| u16::try_from(of).ok()).find(|of| (400..600).contains(of));
        example.status.parse().ok().or(own)
    });
    let of_reason = || {
        let mut statuses = (400..600).filter_map(|status| StatusCode::from_u16(status).ok());
        let status = statuses.find(|status| {
            let reason = status.canonical_reason().unwrap_or_default();
            reason.to_lowercase().replace([' ', '-'], "_") == code
        });
        status.map(|status| status.as_u16())
    };
    of_example.or_else(of_reason).unwrap_or(400)
}

/// `order_not_found` as `OrderNotFound`.
pub fn variant(text: &str) -> Option<String> {
    pascal(text).filter(|variant| variant != "Other")
}

/// The headers of a response of an operation.
pub fn headers(root: &Node<'_>, response: &Node<'_>) -> Vec<(String, String)> {
    let headers = response.get("headers");
    let headers = headers.iter().flat_map(Node::members);
    headers
        .filter_map(|(name, header)| {
            let header = resolved(root, &header)?;
            let is_sent = header.is("required") || name.eq_ignore_ascii_case("retry-after");
            let example = header.get("example");
            let example = example.or_else(|| header.at(&["schema", "example"]))?;
            let text =
                example.value.as_str().map_or_else(|| example.value.to_string(), str::to_string);
            is_sent.then_some((name.to_string(), text))
        })
        .collect()
}
