//! The error responses and the headers of the document, which dropshot cannot
//! express: errors by status, with examples, and the headers of each response.

use crate::errors::{
    Error, internal_error, key_banned, rate_limit_exceeded, service_unavailable, unauthorized,
};
use crate::headers::{self, Header, HeaderType};
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An operation's responses other than success, by status: its own errors and
/// those of every operation. All server errors stand under `5XX`.
pub(super) fn error_responses(own: &[Error], deprecated: bool) -> Map<String, Value> {
    let response = |(status, errors): (String, Vec<Error>)| {
        // A reference cannot add the headers of a deprecated operation.
        let response = match shared_name(&status) {
            Some(name) if !deprecated => {
                json!({ "$ref": format!("#/components/responses/{name}") })
            }
            _ => error_response(&status, &errors, deprecated),
        };
        (status, response)
    };
    by_status(own).into_iter().map(response).collect()
}

/// `components/responses`: the errors of every operation.
pub(super) fn shared_responses() -> Value {
    let response = |(status, errors): (String, Vec<Error>)| {
        Some((shared_name(&status)?.to_string(), error_response(&status, &errors, false)))
    };
    by_status(&[]).into_iter().filter_map(response).collect::<Map<_, _>>().into()
}

/// `components/headers`.
pub(super) fn shared_headers() -> Value {
    headers::ON_EVERY_RESPONSE
        .into_iter()
        .chain([&headers::RETRY_AFTER, &headers::WWW_AUTHENTICATE])
        .chain(headers::ON_DEPRECATED)
        .chain([&headers::LINK])
        .map(|header| (header.name.to_string(), header_object(header, true)))
        .collect::<Map<_, _>>()
        .into()
}

/// The headers of a success.
pub(super) fn success_headers(deprecated: bool) -> Value {
    header_references(deprecated, deprecated, None)
}

/// One error per code that the middleware may send on every operation.
fn on_every_operation() -> [Error; 5] {
    [
        unauthorized(),
        rate_limit_exceeded(300, "minute", 42),
        key_banned(300),
        internal_error(),
        service_unavailable(),
    ]
}

fn by_status(own: &[Error]) -> BTreeMap<String, Vec<Error>> {
    let mut statuses: BTreeMap<String, Vec<Error>> = BTreeMap::new();
    for error in on_every_operation().iter().chain(own) {
        let server_error = error.status >= 500;
        let status = if server_error { "5XX".to_string() } else { error.status.to_string() };
        let errors = statuses.entry(status).or_default();
        if !errors.iter().any(|known| known.code == error.code) {
            errors.push(error.clone());
        }
    }
    statuses
}

fn shared_name(status: &str) -> Option<&'static str> {
    match status {
        "401" => Some("Unauthorized"),
        "429" => Some("TooManyRequests"),
        "5XX" => Some("ServerError"),
        _ => None,
    }
}

fn description_of(status: &str) -> &'static str {
    match status {
        "400" => "A path parameter is malformed",
        "401" => {
            "Missing or invalid API key. The body does not say what is wrong with \
             the key, unless it is a key for the other environment. A \
             client that sends too many such requests gets 429 instead."
        }
        "404" => "Requested resource could not be found",
        "409" => "Order cannot be cancelled because it has already shipped. It is unchanged.",
        "429" => {
            "Rate limit exceeded, or the key is banned because it kept sending requests after a \
             429. Wait for the time in `Retry-After`."
        }
        _ => {
            "The service failed. 500 is an internal error; 503 means that the server cannot reach \
             its data, and carries `Retry-After`. Both can be retried."
        }
    }
}

/// The header that only responses of this status have, and whether all of them
/// have it.
fn header_of(status: &str) -> Option<(&'static Header, bool)> {
    match status {
        "401" => Some((&headers::WWW_AUTHENTICATE, true)),
        "429" => Some((&headers::RETRY_AFTER, true)),
        "5XX" => Some((&headers::RETRY_AFTER, false)),
        _ => None,
    }
}

/// Whether responses of this status link to something.
fn has_link(status: &str, deprecated: bool) -> bool {
    let status = status.parse().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    deprecated || headers::is_linked(status)
}

fn error_response(status: &str, errors: &[Error], deprecated: bool) -> Value {
    let example = |error: &Error| (error.code.clone(), json!({ "value": error }));
    json!({
        "description": description_of(status),
        "headers": header_references(deprecated, has_link(status, deprecated), header_of(status)),
        "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/Error" },
            "examples": errors.iter().map(example).collect::<Map<_, _>>(),
        }},
    })
}

/// References to the headers of a response. An optional header is inline,
/// because a reference cannot say `required: false`.
fn header_references(deprecated: bool, linked: bool, own: Option<(&Header, bool)>) -> Value {
    let deprecation = if deprecated { headers::ON_DEPRECATED.as_slice() } else { &[] };
    let link = linked.then_some(&headers::LINK);
    let always = headers::ON_EVERY_RESPONSE.iter().chain(deprecation).copied().chain(link);
    let reference = |(header, required): (&Header, bool)| {
        let value = if required {
            json!({ "$ref": format!("#/components/headers/{}", header.name) })
        } else {
            header_object(header, false)
        };
        (header.name.to_string(), value)
    };
    always.map(|header| (header, true)).chain(own).map(reference).collect::<Map<_, _>>().into()
}

fn header_object(header: &Header, required: bool) -> Value {
    let (schema, is_number) = match header.kind {
        HeaderType::Count => (json!({ "type": "integer", "format": "int64", "minimum": 0 }), true),
        HeaderType::Seconds => {
            (json!({ "type": "integer", "format": "int64", "minimum": 1 }), true)
        }
        HeaderType::UnixSeconds => (json!({ "type": "integer", "format": "int64" }), true),
        HeaderType::Uuid => (json!({ "type": "string", "format": "uuid" }), false),
        HeaderType::Text => (json!({ "type": "string" }), false),
    };
    let example = match header.example.parse::<i64>() {
        Ok(number) if is_number => json!(number),
        _ => json!(header.example),
    };
    let description = header.meaning;
    if required {
        json!({
            "description": description, "schema": schema, "example": example, "required": true,
        })
    } else {
        // `false` is OpenAPI's default.
        json!({ "description": description, "schema": schema, "example": example })
    }
}
