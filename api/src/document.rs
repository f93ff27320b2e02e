//! The emitted document: dropshot's description of the trait, plus what
//! dropshot cannot express: servers, security, errors by status, headers,
//! examples, stability.
//!
//! All of it comes from the types and constants that the server uses, never from
//! `spec/`: a check that copies the document cannot fail.

mod introduction;
mod responses;

use crate::errors::{CancelOrderError, Code, Error, GetPetError, ListOrdersError, OperationError};
use crate::types::{Order, Pet};
use chrono::{DateTime, TimeZone, Utc};
use serde_json::{Map, Value, json};

/// The version of the API that this crate describes.
pub const API_VERSION: &str = "1.1.0";

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

/// Why the document could not be emitted: the trait and this file disagree.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(String);

/// The document of this API, as the server emits it.
pub fn emitted() -> Result<Value, DocumentError> {
    let mut document = from_dropshot()?;
    complete(&mut document)?;
    Ok(in_reading_order(document))
}

/// The emitted document as text, for people and for `/openapi.json`.
pub fn emitted_text() -> Result<String, DocumentError> {
    serde_json::to_string_pretty(&emitted()?)
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
        "bearerFormat": "sto_live_… or sto_test_…",
        "description": "An API key, issued by the operator of the service.",
    }});
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
        .description(introduction::introduction())
        .contact_name("Store Orders")
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
    described["x-stability"] = json!(STABILITY);
    let deprecated = described["deprecated"] == true;

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

/// Appends the known codes to the description of the error body's `code`.
fn list_codes(code: &mut Value) {
    let known: Vec<_> = Code::ALL.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let description = code["description"].as_str().unwrap_or_default();
    code["description"] = json!(format!("{description} Today's codes: {}.", known.join(", ")));
}

fn servers() -> Value {
    let server = |name: &str, host: &str| {
        json!({
            "url": format!("https://{{host}}{}", crate::BASE_PATH),
            "description": name,
            "variables": { "host": {
                "default": host,
                "description": "The host, which the operator of the service tells you.",
            }},
        })
    };
    json!([
        server("Production: accepts keys that begin with sto_live_", "orders.store.example"),
        server("Staging: accepts keys that begin with sto_test_", "staging.orders.store.example"),
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
