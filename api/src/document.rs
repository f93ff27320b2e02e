//! The emitted documents, one for each version of the API: dropshot's description of the trait,
//! plus what dropshot cannot express: servers, security, errors by status, headers, examples,
//! stability.
//!
//! All of it comes from the types and constants that the server uses, never from
//! `spec/`: a check that copies the document cannot fail.

mod error;
mod figures;
mod introduction;
mod responses;
mod wording;

pub use error::DocumentError;

use crate::documents::Document;
use crate::errors::Code;
use crate::key_form;
use crate::operations::{self, Operation};
use crate::plans::Plan;
use crate::types::OrderStatus;
use serde_json::{Map, Value, json};
use wording::{codes, meaning};

/// The document, as the server emits it.
pub fn emitted(version: &Document) -> Result<Value, DocumentError> {
    let mut document = from_dropshot(version)?;
    complete(version, &mut document)?;
    Ok(in_reading_order(document))
}

/// The emitted document as text.
pub fn emitted_text(version: &Document) -> Result<String, DocumentError> {
    text(&emitted(version)?)
}

/// Adds to dropshot's document what dropshot cannot express.
fn complete(version: &Document, document: &mut Value) -> Result<(), DocumentError> {
    complete_operations(version, document)?;
    list_codes(
        version,
        member(document, &["components", "schemas", "Error", "properties", "code"])?,
    );
    let components = member(document, &["components"])?;
    components["responses"] = responses::shared_responses(version);
    components["headers"] = responses::shared_headers(version);
    if let Some(status) = components.pointer_mut("/schemas/Order/properties/status") {
        status["x-extensible-enum"] = json!(OrderStatus::ALL.map(OrderStatus::as_str));
    }
    components["securitySchemes"] = json!({ "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": key_form::pattern(),
        "description": format!(
            "An API key, issued by the operator of the service: `{}` or `{}`, then {} letters and \
             digits. `bearerFormat` says it as a regular expression.",
            key_form::PRODUCTION_PREFIX,
            key_form::STAGING_PREFIX,
            key_form::RANDOM_CHARS + key_form::CHECKSUM_CHARS,
        ),
    }});
    member(document, &["info"])?["x-plans"] = plans();
    drop_unused(document);
    name_tags(member(document, &["tags"])?);
    document["servers"] = servers(version);
    document["security"] = json!([{ "apiKey": [] }]);
    Ok(())
}

fn from_dropshot(version: &Document) -> Result<Value, DocumentError> {
    let api = crate::store_orders_api_mod::stub_api_description()
        .map_err(|error| DocumentError(format!("dropshot refuses the trait: {error}")))?;
    let release = version.release();
    let number =
        release.parse().map_err(|error| DocumentError(format!("version {release}: {error}")))?;
    let mut definition = api.openapi("Store Orders API", number);
    definition
        .description(introduction::introduction(version)?)
        .contact_name("Store Orders")
        .contact_url("https://store.example/support")
        .contact_email("support@store.example")
        .license("MIT", "https://opensource.org/license/mit");
    let mut document = definition
        .json()
        .map_err(|error| DocumentError(format!("dropshot's document is not JSON: {error}")))?;
    member(&mut document, &["info"])?["version"] = json!(version.version);
    Ok(document)
}

fn complete_operations(version: &Document, document: &mut Value) -> Result<(), DocumentError> {
    let mut known = operations_of(version);
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let methods = paths.filter_map(Value::as_object_mut).flat_map(|path| path.values_mut());
    for described in methods {
        let id = described["operationId"].as_str().unwrap_or_default();
        let Some(position) = known.iter().position(|operation| operation.id == id) else {
            let message = format!("{id} is in the trait, but not in api/src/operations.rs");
            return Err(DocumentError(message));
        };
        complete_operation(version, described, &known.swap_remove(position))?;
    }
    known.first().map_or(Ok(()), |left| {
        let id = left.id;
        Err(DocumentError(format!("{id} is in api/src/operations.rs, but not in the trait")))
    })
}

fn operations_of(version: &Document) -> Vec<Operation> {
    if version.is_first() { operations::v1() } else { operations::v2() }
}

fn complete_operation(
    version: &Document,
    described: &mut Value,
    operation: &Operation,
) -> Result<(), DocumentError> {
    let deprecated = described["deprecated"] == true;
    if let Some(description) = described["description"].as_str() {
        described["description"] = json!(figures::filled_in(description, version)?);
    }
    if deprecated {
        described["x-sunset"] = json!(figures::sunset()?.to_string());
    }
    described["x-stability"] = json!(version.stability);
    // What the reference page draws, which takes any stability that it does not know for the end.
    if !version.is_beta() {
        described["x-scalar-stability"] = json!(version.stability);
    }

    let responses = described["responses"]
        .as_object_mut()
        .ok_or_else(|| DocumentError(format!("{} has no responses", operation.id)))?;
    // Dropshot's two catch-alls; each status has its own response instead.
    responses.retain(|status, _| status != "4XX" && status != "5XX");
    for success in responses.values_mut() {
        success["headers"] =
            responses::success_headers(version, deprecated, operation.success_header);
        if let Some(example) = &operation.success_example {
            member(success, &["content", "application/json"])?["example"] = example.clone();
        }
    }
    responses.extend(responses::error_responses(version, &operation.errors, deprecated));
    Ok(())
}

/// Lists the known codes: for programs, and in the description for people.
fn list_codes(version: &Document, code: &mut Value) {
    let codes: Vec<Code> = codes(version).collect();
    code["x-extensible-enum"] = codes.iter().map(|code| code.as_str()).collect();
    let meanings =
        codes.iter().map(|code| (code.as_str().to_string(), json!(meaning(version, *code))));
    code["x-enumDescriptions"] = Value::Object(meanings.collect());
    let known: Vec<_> = codes.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let description = code["description"].as_str().unwrap_or_default();
    code["description"] = json!(format!("{description} Today's codes: {}.", known.join(", ")));
}

fn servers(version: &Document) -> Value {
    let server = |name: &str, prefix: &str, host: &str| {
        json!({
            "url": format!("https://{{host}}{}", version.base_path),
            "description": format!("{name}: accepts keys that begin with {prefix}"),
            "variables": { "host": {
                "default": host,
                "description": "The host, which the operator of the service tells you.",
            }},
        })
    };
    json!([
        server("Production", key_form::PRODUCTION_PREFIX, "orders.store.example"),
        server("Staging", key_form::STAGING_PREFIX, "staging.orders.store.example"),
    ])
}

/// A document as text, for people and as it is served.
pub fn text(document: &Value) -> Result<String, DocumentError> {
    serde_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| DocumentError(error.to_string()))
}

/// Takes out the tags and the headers that no operation of this version has.
fn drop_unused(document: &mut Value) {
    let text = |pointer| document.pointer(pointer).map(Value::to_string).unwrap_or_default();
    let paths = text("/paths") + &text("/components/responses");
    let headers = document.pointer_mut("/components/headers").and_then(Value::as_object_mut);
    if let Some(headers) = headers {
        headers.retain(|name, _| paths.contains(&format!("\"#/components/headers/{name}\"")));
    }
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|tag| paths.contains(&format!("\"tags\":[{}]", tag["name"])));
    }
}

/// Names the tags for people. The tags themselves are names in generated clients.
fn name_tags(tags: &mut Value) {
    for tag in tags.as_array_mut().into_iter().flatten() {
        let name = tag["name"].as_str().unwrap_or_default();
        let (first, rest) = name.split_at_checked(1).unwrap_or_default();
        tag["x-displayName"] = json!(first.to_uppercase() + rest);
    }
}

/// The plans for programs; `null` is a figure that is agreed per account.
fn plans() -> Value {
    let figures = |plan: Plan| {
        let limits = plan.limits();
        let limits = json!({
            "requestsPerMinute": limits.map(|limits| limits.per_minute),
            "requestsPerDay": limits.map(|limits| limits.per_day),
        });
        (plan.title().to_string(), limits)
    };
    Plan::ALL.into_iter().map(figures).collect::<Map<_, _>>().into()
}

/// The document with its parts in the order in which people read them.
fn in_reading_order(mut document: Value) -> Value {
    let order = ["openapi", "info", "servers", "security", "tags", "paths", "components"];
    let Some(parts) = document.as_object_mut() else { return document };
    let mut ordered: Map<_, _> =
        order.iter().filter_map(|part| Some((part.to_string(), parts.remove(*part)?))).collect();
    ordered.append(parts);
    ordered.into()
}

/// The member at this path of keys.
fn member<'a>(document: &'a mut Value, path: &[&str]) -> Result<&'a mut Value, DocumentError> {
    path.iter().try_fold(document, |value, key| {
        value
            .get_mut(*key)
            .ok_or_else(|| DocumentError(format!("dropshot's document has no {}", path.join("."))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;

    #[test]
    fn an_operation_that_only_the_trait_has_is_named_with_the_file_that_lacks_it() {
        let mut document = json!({ "paths": { "/new": { "post": { "operationId": "addNew" } } } });
        let error = complete_operations(&V1, &mut document).unwrap_err().to_string();
        assert_eq!(error, "addNew is in the trait, but not in api/src/operations.rs");
        let error = complete_operations(&V1, &mut json!({ "paths": {} })).unwrap_err().to_string();
        assert_eq!(error, "listOrders is in api/src/operations.rs, but not in the trait");
    }
}
