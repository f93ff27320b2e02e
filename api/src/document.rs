//! The emitted document: what dropshot makes of the trait, and the little that
//! dropshot cannot say: servers, security, errors by status, headers,
//! examples, stability.
//!
//! All of it comes from the types and constants that the server itself uses,
//! never from `spec/`: a check that copies the document cannot fail.

use crate::errors::{
    CancelOrderError, Code, GetPetError, ListOrdersError, OperationError, description_of,
    headers_of, on_every_operation,
};
use crate::headers::{self, Header, HeaderType};
use crate::plans::Plan;
use crate::types::{Error, Order, Pet};
use chrono::{DateTime, TimeZone, Utc};
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The version of the API that this crate describes.
pub const API_VERSION: &str = "1.0.0";

/// How much may still change about an operation (specification, Versioning 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stability {
    /// Changes only by additions.
    Stable,
}

impl Stability {
    const fn as_str(self) -> &'static str {
        match self {
            Stability::Stable => "stable",
        }
    }
}

/// What an operation adds to dropshot's own description of it.
struct Operation {
    id: &'static str,
    errors: Vec<(Code, Error)>,
    stability: Stability,
    success_example: Option<Value>,
}

fn operations() -> [Operation; 3] {
    [
        Operation {
            id: "listOrders",
            errors: each::<ListOrdersError>(),
            stability: Stability::Stable,
            success_example: Some(json!(example_orders())),
        },
        Operation {
            id: "cancelOrder",
            errors: each::<CancelOrderError>(),
            stability: Stability::Stable,
            success_example: None,
        },
        Operation {
            id: "getPet",
            errors: each::<GetPetError>(),
            stability: Stability::Stable,
            success_example: Some(json!(Pet { id: 7, name: "Rex".to_string() })),
        },
    ]
}

/// The codes of an operation's own errors, each with an example.
fn each<E: OperationError>() -> Vec<(Code, Error)> {
    E::EACH.iter().map(|error| (error.code(), error.into_error())).collect()
}

fn example_orders() -> [Order; 2] {
    let ship_date: Option<DateTime<Utc>> = Utc.with_ymd_and_hms(2026, 12, 24, 9, 30, 0).single();
    [
        Order { id: 1041, pet_id: 7, quantity: 2, ship_date, complete: true },
        Order { id: 1042, pet_id: 9, quantity: 1, ship_date: None, complete: false },
    ]
}

/// Why the document could not be emitted: the trait and this file disagree.
#[derive(Debug)]
pub struct DocumentError(String);

impl std::fmt::Display for DocumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DocumentError {}

/// The document of this API, as the server emits it.
pub fn emitted() -> Result<Value, DocumentError> {
    let api = crate::store_orders_api_mod::stub_api_description()
        .map_err(|error| DocumentError(format!("dropshot refuses the trait: {error}")))?;
    let version = API_VERSION
        .parse()
        .map_err(|error| DocumentError(format!("API_VERSION {API_VERSION}: {error}")))?;
    let mut definition = api.openapi("Store Orders API", version);
    definition
        .description(introduction())
        .contact_name("Store Orders")
        .license("MIT", "https://opensource.org/license/mit");
    let mut document = definition
        .json()
        .map_err(|error| DocumentError(format!("dropshot's document is no JSON: {error}")))?;

    for operation in operations() {
        complete_operation(&mut document, &operation)?;
    }
    let code = member(&mut document, &["components", "schemas", "Error", "properties", "code"])?;
    let known: Vec<_> = Code::ALL.iter().map(|code| format!("`{}`", code.as_str())).collect();
    let description = format!(
        "{} Today's codes: {}.",
        code["description"].as_str().unwrap_or_default(),
        known.join(", ")
    );
    code["description"] = json!(description);
    let components = member(&mut document, &["components"])?;
    components["responses"] = shared_responses();
    components["headers"] = all_headers();
    components["securitySchemes"] = json!({ "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "sto_live_… or sto_test_…",
        "description": "An API key that the operator of the service issued.",
    }});
    let mut parts = parts(document)?;
    parts.insert("servers".to_string(), servers());
    parts.insert("security".to_string(), json!([{ "apiKey": [] }]));
    Ok(in_reading_order(parts))
}

fn parts(document: Value) -> Result<Map<String, Value>, DocumentError> {
    match document {
        Value::Object(parts) => Ok(parts),
        _ => Err(DocumentError("dropshot's document is no object".to_string())),
    }
}

/// The document of these parts in the order in which people read them.
fn in_reading_order(mut parts: Map<String, Value>) -> Value {
    let order = ["openapi", "info", "servers", "security", "tags", "paths", "components"];
    let mut ordered: Map<_, _> =
        order.iter().filter_map(|part| Some((part.to_string(), parts.remove(*part)?))).collect();
    ordered.append(&mut parts);
    ordered.into()
}

/// The emitted document as text, for people and for `/openapi.json`.
pub fn emitted_text() -> Result<String, DocumentError> {
    serde_json::to_string_pretty(&emitted()?)
        .map(|text| text + "\n")
        .map_err(|error| DocumentError(error.to_string()))
}

fn introduction() -> String {
    include_str!("introduction.md")
        .trim_end()
        .replace("{plans}", plan_table().trim_end())
        .replace("{codes}", code_table().trim_end())
}

fn plan_table() -> String {
    let mut table =
        "| Plan | Requests per minute | Requests per day |\n|---|---|---|\n".to_string();
    for plan in Plan::ALL {
        let (minute, day) = match plan.limits() {
            Some(limits) => (thousands(limits.per_minute), thousands(limits.per_day)),
            None => ("custom".to_string(), "custom".to_string()),
        };
        let _ = writeln!(table, "| {} | {minute} | {day} |", plan.title());
    }
    table
}

/// `100000` as `100,000`, as the specification writes it.
fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn code_table() -> String {
    let mut table = "| Status | `code` | When, and what to do |\n|---|---|---|\n".to_string();
    for code in Code::ALL {
        let _ = writeln!(
            table,
            "| {} | `{}` | {} |",
            code.status().as_u16(),
            code.as_str(),
            code.meaning()
        );
    }
    table
}

fn servers() -> Value {
    let server = |name: &str, host: &str| {
        json!({
            "url": format!("https://{{host}}{}", crate::BASE_PATH),
            "description": name,
            "variables": { "host": {
                "default": host,
                "description": "The host that the operator of the service named to you.",
            }},
        })
    };
    json!([
        server("Production: takes keys that begin with sto_live_", "orders.store.example"),
        server("Staging: takes keys that begin with sto_test_", "staging.orders.store.example"),
    ])
}

/// Adds to dropshot's operation what dropshot cannot say.
fn complete_operation(document: &mut Value, operation: &Operation) -> Result<(), DocumentError> {
    let described = document["paths"]
        .as_object_mut()
        .into_iter()
        .flat_map(|paths| paths.values_mut())
        .filter_map(Value::as_object_mut)
        .flat_map(|methods| methods.values_mut())
        .find(|described| described["operationId"] == operation.id)
        .ok_or_else(|| DocumentError(format!("the trait has no operation {}", operation.id)))?;
    described["x-stability"] = json!(operation.stability.as_str());
    let deprecated = described["deprecated"] == true;

    let responses = described["responses"]
        .as_object_mut()
        .ok_or_else(|| DocumentError(format!("{} has no responses", operation.id)))?;
    // Dropshot's two catch-alls: ours say each status by itself.
    responses.retain(|status, _| status != "4XX" && status != "5XX");
    for success in responses.values_mut() {
        success["headers"] = header_references(deprecated, &[]);
        if let Some(example) = &operation.success_example {
            let content = member(success, &["content", "application/json"])?;
            content["example"] = example.clone();
        }
    }
    for (status, errors) in by_status(&operation.errors) {
        // A reference cannot add the headers of a deprecated operation.
        let response = match shared_name(&status) {
            Some(name) if !deprecated => {
                json!({ "$ref": format!("#/components/responses/{name}") })
            }
            _ => error_response(&errors, deprecated),
        };
        responses.insert(status, response);
    }
    Ok(())
}

/// The errors of an operation and those of every operation, under the status
/// that the document gives them: each client error its own, all server errors
/// `5XX`.
fn by_status(own: &[(Code, Error)]) -> BTreeMap<String, Vec<(Code, Error)>> {
    let mut statuses: BTreeMap<String, Vec<(Code, Error)>> = BTreeMap::new();
    for (code, error) in on_every_operation().iter().chain(own) {
        let errors = statuses.entry(status_key(code.status())).or_default();
        if !errors.iter().any(|(known, _)| known == code) {
            errors.push((*code, error.clone()));
        }
    }
    statuses
}

fn status_key(status: StatusCode) -> String {
    if status.is_server_error() { "5XX".to_string() } else { status.as_str().to_string() }
}

fn shared_name(status: &str) -> Option<&'static str> {
    match status {
        "401" => Some("Unauthorized"),
        "429" => Some("TooManyRequests"),
        "5XX" => Some("ServerError"),
        _ => None,
    }
}

fn shared_responses() -> Value {
    by_status(&[])
        .into_iter()
        .filter_map(|(status, errors)| {
            Some((shared_name(&status)?.to_string(), error_response(&errors, false)))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn error_response(errors: &[(Code, Error)], deprecated: bool) -> Value {
    let status =
        errors.first().map_or(StatusCode::INTERNAL_SERVER_ERROR, |(code, _)| code.status());
    let examples: Map<_, _> = errors
        .iter()
        .map(|(code, error)| (code.as_str().to_string(), json!({ "value": error })))
        .collect();
    json!({
        "description": description_of(status),
        "headers": header_references(deprecated, headers_of(status)),
        "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/Error" },
            "examples": examples,
        }},
    })
}

/// References to the headers of a response. One that is on only some of its
/// responses stands inline, because a reference cannot say `required: false`.
fn header_references(deprecated: bool, own: &[(&Header, bool)]) -> Value {
    let deprecation = if deprecated { headers::ON_DEPRECATED.as_slice() } else { &[] };
    let always = headers::ON_EVERY_RESPONSE.iter().chain(deprecation);
    always
        .map(|header| (*header, true))
        .chain(own.iter().copied())
        .map(|(header, required)| {
            let value = if required {
                json!({ "$ref": format!("#/components/headers/{}", header.name) })
            } else {
                header_object(header, false)
            };
            (header.name.to_string(), value)
        })
        .collect::<Map<_, _>>()
        .into()
}

fn all_headers() -> Value {
    headers::ON_EVERY_RESPONSE
        .into_iter()
        .chain([&headers::RETRY_AFTER, &headers::WWW_AUTHENTICATE])
        .chain(headers::ON_DEPRECATED)
        .map(|header| (header.name.to_string(), header_object(header, true)))
        .collect::<Map<_, _>>()
        .into()
}

fn header_object(header: &Header, required: bool) -> Value {
    let number = |text: &str| text.parse::<i64>().map_or(Value::Null, Value::from);
    let (schema, example) = match header.kind {
        HeaderType::Count => {
            (json!({ "type": "integer", "format": "int64", "minimum": 0 }), number(header.example))
        }
        HeaderType::Seconds => {
            (json!({ "type": "integer", "format": "int64", "minimum": 1 }), number(header.example))
        }
        HeaderType::UnixSeconds => {
            (json!({ "type": "integer", "format": "int64" }), number(header.example))
        }
        HeaderType::Uuid => (json!({ "type": "string", "format": "uuid" }), json!(header.example)),
        HeaderType::Text => (json!({ "type": "string" }), json!(header.example)),
    };
    // `false` is what OpenAPI assumes where nothing stands.
    let required = required.then(|| ("required".to_string(), json!(true)));
    [("description", json!(header.meaning)), ("schema", schema), ("example", example)]
        .map(|(key, value)| (key.to_string(), value))
        .into_iter()
        .chain(required)
        .collect::<Map<_, _>>()
        .into()
}

/// The member at this path of keys, which dropshot's document is known to have.
fn member<'a>(document: &'a mut Value, path: &[&str]) -> Result<&'a mut Value, DocumentError> {
    path.iter().try_fold(document, |value, key| {
        value
            .get_mut(*key)
            .ok_or_else(|| DocumentError(format!("dropshot's document has no {}", path.join("."))))
    })
}
