//! The rules for responses that the document does not describe one by one.
//!
//! - A path that the document does not have: 401, 404 `not_found`, 429 or 5XX.
//! - A documented path with another method: 401, 405 `method_not_allowed` with one
//!   `Allow`, 429 or 5XX, with the headers of the path's operation if that is
//!   deprecated.
//! - Both in the shape of `Error`, with the headers of every response, and under
//!   401, 429 and 5XX with those that the document gives them.
//! - The public pages are read without a key: a page, a redirect or 405, and no rate
//!   limit headers. A page that does not exist is a path like any other.
//! - What dropshot and hyper reject before any of our code runs is not ours: dot
//!   segments, octets that are no UTF-8, methods outside the nine, 414, 431.

use super::documented::{DocumentedResponse, Operation, WireCheck, responses};
use super::messages::SentRequest;
use super::schema::Reader;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The pages that are read without a key, and what each is.
pub const PUBLIC_PAGES: [(&str, &str); 14] = [
    ("/", "text/html; charset=utf-8"),
    ("/docs", "text/html; charset=utf-8"),
    ("/docs/v2", "text/html; charset=utf-8"),
    ("/changelog", "text/html; charset=utf-8"),
    ("/changelog.atom", "application/atom+xml; charset=utf-8"),
    ("/docs/docs.css", "text/css; charset=utf-8"),
    ("/docs/docs.js", "text/javascript; charset=utf-8"),
    ("/docs/scalar.js", "text/javascript; charset=utf-8"),
    ("/docs/pages.css", "text/css; charset=utf-8"),
    ("/openapi.json", "application/json"),
    ("/openapi-v2.json", "application/json"),
    ("/favicon.ico", "image/svg+xml"),
    ("/llms.txt", "text/plain; charset=utf-8"),
    ("/robots.txt", "text/plain; charset=utf-8"),
];

/// What a request was about.
pub enum Subject<'a> {
    Operation(&'a Operation),
    OtherMethod(&'a Operation),
    UnknownPath,
    PublicPage,
    NotOurs,
}

/// By the request line and, where only that tells, by the status.
pub fn subject<'a>(check: &'a WireCheck, sent: &SentRequest, status: u16) -> Subject<'a> {
    let path = sent.path();
    let Some(segments) = segments(path) else { return Subject::NotOurs };
    let known_method = METHODS.iter().any(|method| method.eq_ignore_ascii_case(&sent.method));
    if !known_method || sent.method == "CONNECT" || matches!(status, 414 | 431) {
        return Subject::NotOurs;
    }
    // With a slash at its end it leads to the page.
    let page = path.strip_suffix('/').filter(|page| !page.is_empty()).unwrap_or(path);
    let is_public = PUBLIC_PAGES.iter().any(|(public, _)| *public == page);
    if is_public && !matches!(status, 401 | 404 | 429 | 500..) {
        return Subject::PublicPage;
    }
    let method = if sent.method == "HEAD" { "GET" } else { &sent.method };
    let of_path = |operation: &&Operation| {
        segments.len() == operation.path.len()
            && operation.path.iter().zip(&segments).all(|(own, segment)| {
                own == segment || (own.starts_with('{') && !segment.is_empty())
            })
    };
    let of_path: Vec<_> = check.operations.iter().filter(of_path).collect();
    match (of_path.iter().find(|operation| operation.method == method), of_path.first()) {
        (Some(operation), _) => Subject::Operation(operation),
        (None, Some(operation)) => Subject::OtherMethod(operation),
        (None, None) => Subject::UnknownPath,
    }
}

/// The segments of a path, decoded; none if it has dot segments or is no text.
fn segments(path: &str) -> Option<Vec<String>> {
    let segments = path.strip_prefix('/')?.split('/').map(decoded);
    let segments: Option<Vec<_>> = segments.collect();
    segments.filter(|segments| !segments.iter().any(|segment| segment == "." || segment == ".."))
}

fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// What a path that the document does not have may answer.
pub fn unknown_path(document: &Value, reader: Reader) -> BTreeMap<String, DocumentedResponse> {
    let shared = &document["components"]["responses"];
    let described = json!({
        "401": shared["Unauthorized"],
        "404": error(document, of_not_found(document), "not_found", 404),
        "429": shared["TooManyRequests"],
        "5XX": shared["ServerError"],
    });
    responses(&described, reader)
}

/// What a path of the contract may answer to a method that it does not take.
pub fn other_method(
    document: &Value,
    operation: &Value,
    reader: Reader,
) -> BTreeMap<String, DocumentedResponse> {
    let own = &operation["responses"];
    let mut headers = own["429"]["headers"].as_object().unwrap().clone();
    headers.remove("Retry-After");
    headers
        .insert("Allow".to_string(), json!({ "required": true, "schema": { "type": "string" } }));
    let described = json!({
        "401": own["401"],
        "405": error(document, headers, "method_not_allowed", 405),
        "429": own["429"],
        "5XX": own["5XX"],
    });
    responses(&described, reader)
}

/// The headers of a 404: those of a 401 without the challenge.
fn of_not_found(document: &Value) -> Map<String, Value> {
    let headers = &document["components"]["responses"]["Unauthorized"]["headers"];
    let mut headers = headers.as_object().unwrap().clone();
    headers.remove("WWW-Authenticate");
    headers
}

fn error(document: &Value, headers: Map<String, Value>, code: &str, status: u16) -> Value {
    json!({
        "headers": headers,
        "content": { "application/json": {
            "schema": document["components"]["schemas"]["Error"],
            "examples": { code: { "value": { "status": status } } },
        }},
    })
}
