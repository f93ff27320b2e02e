//! Renders a reference page, which shows the whole document as static HTML. If the browser runs
//! scripts, the OpenAPI viewer Scalar replaces this content.

use super::facts::{Operation, one_line, operations, text};
use super::markdown::{heading, markup};
use super::{SITE_BAR, label, site_bar};
use crate::documents::{Document, V1};
use codegen::pointer;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::Write;

const TEMPLATE: &str = include_str!("reference.html");

const LABEL: &str = "{label}";

/// The template's placeholder for the banner. Only pages of older versions have a banner.
const BANNER: &str = "{banner}";

/// Renders the page of a document. Operations have the same anchors as in Scalar, so that links
/// work with and without scripts. The server replaces `{base_urls}` with a list item for each base
/// URL.
pub fn page(version: &Document, newest: &Document, document: &Value) -> String {
    let label = label(version, newest);
    let banner = if label == version.module { String::new() } else { banner(version, newest) };
    let info = &document["info"];
    let reference = [
        format!("<h1>{} {label}</h1>\n", text(&info["title"])),
        markup(&contents(document)),
        "<ul>\n{base_urls}</ul>\n".to_string(),
        markup(text(&info["description"])),
        tags(version, document),
        headers(document),
        models(document),
    ];
    TEMPLATE
        .replace(SITE_BAR, &site_bar(newest, version.reference, version))
        .replace(LABEL, &label)
        .replace(BANNER, &banner)
        .replace(V1.path, version.path)
        .replace("{reference}", reference.concat().trim_end())
}

fn banner(version: &Document, newest: &Document) -> String {
    let (older, Document { module, reference, .. }) = (version.module, newest);
    format!(
        "<aside class=\"older\" aria-label=\"Newer version\">This is {older}, an older version. \
         New programs use <a href=\"{reference}\">{module}</a>.</aside>\n"
    )
}

fn contents(document: &Value) -> String {
    let link = |operation: &Operation<'_>| {
        format!("[{}](#{})", text(&operation.value["operationId"]), operation.anchor())
    };
    let links: Vec<_> = operations(document).iter().map(link).collect();
    format!(
        "Version {}. On this page: {}, [response headers](#headers), [models](#models).\n",
        text(value_at(document, "/info/version")),
        links.join(", ")
    )
}

fn tags(version: &Document, document: &Value) -> String {
    let common = common_headers(document);
    let mut page = String::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text(&tag["name"]);
        page += &heading(2, &format!("tag/{name}"), text(&tag["x-displayName"]), "");
        page += &markup(text(&tag["description"]));
        for operation in operations(document).iter().filter(|operation| operation.tag == name) {
            page += &section(version, document, operation, &common);
        }
    }
    page
}

fn section(
    version: &Document,
    document: &Value,
    operation: &Operation<'_>,
    common: &BTreeSet<&str>,
) -> String {
    let Operation { path, method, value, .. } = operation;
    let stability =
        if operation.is_deprecated() { "deprecated" } else { text(&value["x-stability"]) };
    let badge = format!(" <span class=\"badge\">{stability}</span>");
    let mut page = heading(3, &operation.anchor(), text(&value["summary"]), &badge);
    let id = text(&value["operationId"]);
    page += &markup(&format!("`{id}`: `{method} {}{path}`", version.base_path));
    page += &markup(text(&value["description"]));
    let parameters: String =
        value["parameters"].as_array().into_iter().flatten().map(parameter).collect();
    if !parameters.is_empty() {
        page += &format!("<h4>Parameters</h4>\n{}", markup(&parameters));
    }
    let responses = responses(document, value);
    let items: String = responses
        .iter()
        .map(|(status, response)| response_item(document, status, response, common))
        .collect();
    page += &format!("<h4>Responses</h4>\n{}", markup(&items));
    for (status, response) in responses {
        if let Some(example) = response.pointer("/content/application~1json/example") {
            page += &markup(&format!("Example of {status}:\n\n```json\n{example:#}\n```\n"));
        }
    }
    page += "<h4>Programs to copy</h4>\n";
    for (label, program) in operation.samples() {
        let program = markup(&program);
        page += &format!("<details><summary>{label}</summary>\n{program}</details>\n");
    }
    page
}

fn parameter(parameter: &Value) -> String {
    let required = if parameter["required"] == true { ", required" } else { "" };
    format!(
        "- `{}` in {}: {}{required}. {}\n",
        text(&parameter["name"]),
        text(&parameter["in"]),
        kind(&parameter["schema"]),
        one_line(text(&parameter["description"]))
    )
}

/// Renders a response as a list item in Markdown, without the headers in `common`.
fn response_item(
    document: &Value,
    status: &str,
    response: &Value,
    common: &BTreeSet<&str>,
) -> String {
    let mut item = format!("- **{status}** {}", sentence(text(&response["description"])));
    let content = value_at(response, "/content/application~1json");
    if content.is_object() {
        let _ = write!(item, " Body: {}.", kind(&content["schema"]));
    }
    let codes: Vec<_> =
        members(&content["examples"]).map(|(code, _)| format!("[{code}](/guide#{code})")).collect();
    if !codes.is_empty() {
        let _ = write!(item, " Codes: {}.", codes.join(", "));
    }
    let headers: Vec<_> = response_headers(document, response)
        .filter(|(name, _)| !common.contains(name))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !headers.is_empty() {
        let _ = write!(item, " Headers: {}.", headers.join(", "));
    }
    item + "\n"
}

fn headers(document: &Value) -> String {
    let common = common_headers(document);
    // Responses may have different examples for the same header. List the header only once, with
    // its first example.
    let mut items: Vec<(String, String)> = Vec::new();
    for (_, response) in operations(document).iter().flat_map(|one| responses(document, one.value))
    {
        for (name, header) in response_headers(document, response) {
            let item = format!(
                "- `{name}`: {}. {}",
                kind(&header["schema"]),
                sentence(text(&header["description"]))
            );
            if items.iter().all(|(listed, _)| *listed != item) {
                items.push((item, plain(&header["example"])));
            }
        }
    }
    let line = |(item, example)| format!("{item} Example: `{example}`\n");
    let items: String = items.into_iter().map(line).collect();
    let names: Vec<_> = common.iter().map(|name| format!("`{name}`")).collect();
    let text = format!("Every response has {}.\n\n{}", names.join(", "), items);
    heading(2, "headers", "Response headers", "") + &markup(&text)
}

fn models(document: &Value) -> String {
    let mut page = heading(2, "models", "Models", "");
    for (name, schema) in members(value_at(document, "/components/schemas")) {
        page += &heading(3, &format!("models/{name}"), name, "");
        page += &markup(text(&schema["description"]));
        let fields = members(&schema["properties"]).map(|(field, value)| {
            let required = schema["required"].as_array();
            let is_required = required.is_some_and(|all| all.iter().any(|one| one == field));
            let optional = if is_required { "" } else { ", optional" };
            let description = one_line(text(&value["description"]));
            format!("- `{field}`: {}{optional}. {description}\n", kind(value))
        });
        page += &markup(&fields.collect::<String>());
    }
    page
}

/// Returns the headers that all responses have. The page lists them once instead of at each
/// response.
fn common_headers(document: &Value) -> BTreeSet<&str> {
    let operations = operations(document);
    let responses = operations.iter().flat_map(|one| responses(document, one.value));
    let names = responses
        .map(|(_, response)| response_headers(document, response).map(|(name, _)| name))
        .map(BTreeSet::from_iter);
    names.reduce(|left, right| &left & &right).unwrap_or_default()
}

fn responses<'d>(document: &'d Value, operation: &'d Value) -> Vec<(&'d str, &'d Value)> {
    members(&operation["responses"])
        .map(|(status, response)| (status, target(document, response)))
        .collect()
}

fn response_headers<'d>(
    document: &'d Value,
    response: &'d Value,
) -> impl Iterator<Item = (&'d str, &'d Value)> {
    members(&response["headers"]).map(|(name, header)| (name, target(document, header)))
}

fn target<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    pointer::target(document, text(&value["$ref"])).unwrap_or(value)
}

fn value_at<'a>(value: &'a Value, pointer: &str) -> &'a Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flat_map(Map::iter);
    members.map(|(name, value)| (name.as_str(), value))
}

fn kind(schema: &Value) -> String {
    if let Some(model) = text(&schema["$ref"]).rsplit_once('/').map(|(_, model)| model) {
        return format!("[{model}](#models/{model})");
    }
    let mut kind = match text(&schema["type"]) {
        "array" => format!("array of {}", kind(&schema["items"])),
        other => other.to_string(),
    };
    if let Some(format) = schema["format"].as_str() {
        let _ = write!(kind, " ({format})");
    }
    for (field, words) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("pattern", "of the form"),
        ("default", "by default"),
    ] {
        if let Some(value) = schema.get(field) {
            let _ = write!(kind, ", {words} `{}`", plain(value));
        }
    }
    // If an open enum has `x-enumDescriptions`, the guide describes its values, so they are not
    // listed here.
    let open = schema.get("x-extensible-enum").filter(|_| schema["x-enumDescriptions"].is_null());
    if let Some(values) = schema.get("enum").or(open).and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(|value| format!("`{}`", text(value))).collect();
        let _ = write!(kind, ", one of {}", values.join(", "));
    }
    kind
}

/// Formats a value. A string gets no quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

fn sentence(text: &str) -> String {
    format!("{}.", one_line(text).trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_described_in_a_few_words() {
        for (schema, words) in [
            (json!({ "$ref": "#/components/schemas/Order" }), "[Order](#models/Order)"),
            (
                json!({ "type": "array", "items": { "$ref": "#/components/schemas/Pet" } }),
                "array of [Pet](#models/Pet)",
            ),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": 2 }),
                "integer, at least `1`, at most `9`, by default `2`",
            ),
            (
                json!({ "type": "string", "format": "date-time", "pattern": "^2" }),
                "string (date-time), of the form `^2`",
            ),
            (json!({ "type": "string", "enum": ["a", "b"] }), "string, one of `a`, `b`"),
            (json!({ "type": "string", "x-extensible-enum": ["a"] }), "string, one of `a`"),
            (
                json!({
                    "type": "string",
                    "x-extensible-enum": ["a"],
                    "x-enumDescriptions": { "a": "A." },
                }),
                "string",
            ),
        ] {
            assert_eq!(kind(&schema), words);
        }
    }
}
