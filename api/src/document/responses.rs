//! The error responses and the headers of the document, which dropshot cannot
//! express: errors by status, with examples, and the headers of each response.

use super::wording::{link, status_description};
use crate::documents::Document;
use crate::errors::{
    Code, Error, internal_error, key_banned, rate_limit_exceeded, service_unavailable, unauthorized,
};
use crate::headers::{self, Header, HeaderType};
use http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An operation's responses other than success, by status: its own errors and
/// those of every operation. All server errors stand under `5XX`.
pub(super) fn error_responses(
    document: &Document,
    own: &[Error],
    deprecated: bool,
) -> Map<String, Value> {
    let response = |(status, errors): (String, Vec<Error>)| {
        // A reference cannot add the headers of a deprecated operation.
        let response = match shared_name(&status) {
            Some(name) if !deprecated => {
                json!({ "$ref": format!("#/components/responses/{name}") })
            }
            _ => error_response(document, &status, &errors, deprecated),
        };
        (status, response)
    };
    by_status(own).into_iter().map(response).collect()
}

/// `components/responses`: the errors of every operation.
pub(super) fn shared_responses(document: &Document) -> Value {
    let response = |(status, errors): (String, Vec<Error>)| {
        let name = shared_name(&status)?.to_string();
        Some((name, error_response(document, &status, &errors, false)))
    };
    by_status(&[]).into_iter().filter_map(response).collect::<Map<_, _>>().into()
}

/// `components/headers`.
pub(super) fn shared_headers(document: &Document) -> Value {
    headers::ON_EVERY_RESPONSE
        .into_iter()
        .chain([&headers::RETRY_AFTER, &headers::WWW_AUTHENTICATE])
        .chain(headers::ON_DEPRECATED)
        .chain([link(document)])
        .map(|header| (header.name.to_string(), header_object(header, true)))
        .collect::<Map<_, _>>()
        .into()
}

/// The headers of a success, of which some have this one, too.
pub(super) fn success_headers(
    document: &Document,
    deprecated: bool,
    some_have: Option<&Header>,
) -> Value {
    header_references(document, deprecated, deprecated, some_have.map(|header| (header, false)))
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

/// The text of a response with these errors, which have one status.
fn description_of(document: &Document, errors: &[Error]) -> Option<&'static str> {
    let first = errors.first()?;
    let code = Code::ALL.into_iter().find(|code| code.as_str() == first.code);
    code.map(|code| status_description(document, code))
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

fn error_response(document: &Document, status: &str, errors: &[Error], deprecated: bool) -> Value {
    let linked = has_link(status, deprecated);
    let example = |error: &Error| (error.code.clone(), json!({ "value": error }));
    json!({
        "description": description_of(document, errors),
        "headers": header_references(document, deprecated, linked, header_of(status)),
        "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/Error" },
            "examples": errors.iter().map(example).collect::<Map<_, _>>(),
        }},
    })
}

/// References to the headers of a response. An optional header is inline,
/// because a reference cannot say `required: false`.
fn header_references(
    document: &Document,
    deprecated: bool,
    linked: bool,
    own: Option<(&Header, bool)>,
) -> Value {
    let deprecation = if deprecated { headers::ON_DEPRECATED.as_slice() } else { &[] };
    let link = linked.then_some(link(document));
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
