//! The emitted document: dropshot's description of the trait, plus what
//! dropshot cannot express: servers, security, errors by status, headers,
//! examples, stability.
//!
//! All of it comes from the types and constants that the server uses, never from
//! `spec/`: a check that copies the document cannot fail.

mod error;
mod figures;
mod introduction;
mod responses;

pub use error::DocumentError;

use crate::errors::{CancelOrderError, Code, Error, GetPetError, ListOrdersError, OperationError};
use crate::key_form;
use crate::plans::Plan;
use crate::types::{Order, Pet};
use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Map, Value, json};

/// The version of the API that this crate describes.
pub const API_VERSION: &str = "1.2.0";

/// The stability of every operation: it changes only by additions
/// (specification, Versioning 4).
const STABILITY: &str = "stable";

/// What an operation adds to dropshot's own description of it.
struct Operation {
    id: &'static str,
    errors: Vec<Error>,
    success_example: Option<Value>,
}

fn operations() -> [Operation; 3] {
    [
        Operation {
            id: "listOrders",
            errors: each::<ListOrdersError>(),
            success_example: Some(json!(example_orders())),
        },
        Operation { id: "cancelOrder", errors: each::<CancelOrderError>(), success_example: None },
        Operation {
            id: "getPet",
            errors: each::<GetPetError>(),
            success_example: Some(json!(Pet { id: 7, name: "Rex".to_string() })),
        },
    ]
}

fn each<E: OperationError>() -> Vec<Error> {
    E::EACH.iter().map(|error| error.into_error()).collect()
}

fn example_orders() -> [Order; 2] {
    let ship_date: Option<DateTime<Utc>> = Utc.with_ymd_and_hms(2026, 12, 24, 9, 30, 0).single();
    [
        Order { id: 1041, pet_id: 7, quantity: 2, ship_date, complete: true },
        Order { id: 1042, pet_id: 9, quantity: 1, ship_date: None, complete: false },
    ]
}

/// The document of this API, as the server emits it.
pub fn emitted() -> Result<Value, DocumentError> {
    let mut document = from_dropshot()?;
    complete(&mut document)?;
    Ok(in_reading_order(document))
}

/// The emitted document as text.
pub fn emitted_text() -> Result<String, DocumentError> {
    text(&emitted()?)
}

/// A document as text, for people and for `/openapi.json`.
pub fn text(document: &Value) -> Result<String, DocumentError> {
    serde_json::to_string_pretty(document)
        .map(|text| text + "\n")
        .map_err(|error| DocumentError(error.to_string()))
}

/// Adds to dropshot's document what dropshot cannot express.
fn complete(document: &mut Value) -> Result<(), DocumentError> {
    for operation in operations() {
        complete_operation(document, &operation)?;
    }
    list_codes(member(document, &["components", "schemas", "Error", "properties", "code"])?);
    let components = member(document, &["components"])?;
    components["responses"] = responses::shared_responses();
    components["headers"] = responses::shared_headers();
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
    name_tags(member(document, &["tags"])?);
    document["servers"] = servers();
    document["security"] = json!([{ "apiKey": [] }]);
    Ok(())
}

fn from_dropshot() -> Result<Value, DocumentError> {
    let api = crate::store_orders_api_mod::stub_api_description()
        .map_err(|error| DocumentError(format!("dropshot refuses the trait: {error}")))?;
    let version = API_VERSION
        .parse()
        .map_err(|error| DocumentError(format!("API_VERSION {API_VERSION}: {error}")))?;
    let mut definition = api.openapi("Store Orders API", version);
    definition
        .description(introduction::introduction()?)
        .contact_name("Store Orders")
        .contact_url("https://store.example/support")
        .contact_email("support@store.example")
        .license("MIT", "https://opensource.org/license/mit");
    definition
        .json()
        .map_err(|error| DocumentError(format!("dropshot's document is not JSON: {error}")))
}

fn complete_operation(document: &mut Value, operation: &Operation) -> Result<(), DocumentError> {
    let described = document["paths"]
        .as_object_mut()
        .into_iter()
        .flat_map(|paths| paths.values_mut())
        .filter_map(Value::as_object_mut)
        .flat_map(|methods| methods.values_mut())
        .find(|described| described["operationId"] == operation.id)
        .ok_or_else(|| DocumentError(format!("the trait has no operation {}", operation.id)))?;
    let deprecated = described["deprecated"] == true;
    if let Some(description) = described["description"].as_str() {
        described["description"] = json!(figures::filled_in(description)?);
    }
    if deprecated {
        described["x-sunset"] = json!(figures::sunset()?.to_string());
    }
    described["x-stability"] = json!(STABILITY);
    // What the reference page draws.
    described["x-scalar-stability"] = json!(STABILITY);

    let responses = described["responses"]
        .as_object_mut()
        .ok_or_else(|| DocumentError(format!("{} has no responses", operation.id)))?;
    // Dropshot's two catch-alls; each status has its own response instead.
    responses.retain(|status, _| status != "4XX" && status != "5XX");
    for success in responses.values_mut() {
        success["headers"] = responses::success_headers(deprecated);
        if let Some(example) = &operation.success_example {
            member(success, &["content", "application/json"])?["example"] = example.clone();
        }
    }
    responses.extend(responses::error_responses(&operation.errors, deprecated));
    Ok(())
}

/// Names the tags for people. The tags themselves are names in generated clients.
fn name_tags(tags: &mut Value) {
    for tag in tags.as_array_mut().into_iter().flatten() {
        let name = tag["name"].as_str().unwrap_or_default();
        let (first, rest) = name.split_at_checked(1).unwrap_or_default();
        tag["x-displayName"] = json!(first.to_uppercase() + rest);
    }
}

/// Lists the known codes: for programs, and in the description for people.
fn list_codes(code: &mut Value) {
    code["x-extensible-enum"] = json!(Code::ALL.map(Code::as_str));
    let meanings = Code::ALL.map(|code| (code.as_str().to_string(), json!(code.meaning())));
    code["x-enumDescriptions"] = Value::Object(meanings.into_iter().collect());
    let known: Vec<_> = Code::ALL.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let description = code["description"].as_str().unwrap_or_default();
    code["description"] = json!(format!("{description} Today's codes: {}.", known.join(", ")));
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

fn servers() -> Value {
    let server = |name: &str, prefix: &str, host: &str| {
        json!({
            "url": format!("https://{{host}}{}", crate::BASE_PATH),
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
