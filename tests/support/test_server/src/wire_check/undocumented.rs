//! Rules for responses that the document does not describe individually.
//!
//! - A request to a path that is not in the document gets 401, 404 `not_found`, 429 or 5XX.
//! - A request to a documented path with another method gets 401, 405 `method_not_allowed` with one
//!   `Allow` header, 429 or 5XX. If the path's operation is deprecated, the response also has the
//!   deprecation headers.
//! - The responses of the two rules above have the format of `Error`, and the headers that every
//!   response has. 401, 429 and 5XX also have their documented headers.
//! - A public page needs no key. It responds with 200, 304, 308 or 405, without rate limit headers.
//!   If it responds with 401, 404, 429 or 5XX, the rule of unknown paths applies.
//! - Responses with the status 414 or 431 are not checked.
//! - A response is not checked if dropshot or hyper may reject the request before our code runs.
//!   The method of such a request is `CONNECT` or missing from `METHODS`, or the path does not
//!   begin with `/`, contains dot segments, or cannot be decoded as UTF-8.

use super::documented::{DocumentedResponse, Operation, WireCheck, responses};
use super::messages::SentRequest;
use super::schema::Reader;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use store_orders_api::documents::DOCUMENTS;

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The public pages that do not belong to a version of the API, with their content types.
const PAGES: [(&str, &str); 13] = [
    ("/", "text/html; charset=utf-8"),
    ("/docs", "text/html; charset=utf-8"),
    ("/guide", "text/html; charset=utf-8"),
    ("/changelog", "text/html; charset=utf-8"),
    ("/changelog.atom", "application/atom+xml; charset=utf-8"),
    ("/docs/docs.css", "text/css; charset=utf-8"),
    ("/docs/guide.js", "text/javascript; charset=utf-8"),
    ("/docs/docs.js", "text/javascript; charset=utf-8"),
    ("/docs/scalar.js", "text/javascript; charset=utf-8"),
    ("/docs/pages.css", "text/css; charset=utf-8"),
    ("/favicon.ico", "image/svg+xml"),
    ("/llms.txt", "text/plain; charset=utf-8"),
    ("/robots.txt", "text/plain; charset=utf-8"),
];

/// Returns the public pages, which need no key, with their content types.
pub fn public_pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let pages = DOCUMENTS.into_iter().flat_map(|document| {
        [(document.reference, "text/html; charset=utf-8"), (document.path, "application/json")]
    });
    pages.chain(PAGES)
}

/// The target of a request. It decides which responses are allowed.
pub enum Subject<'a> {
    Operation(&'a Operation),
    OtherMethod(&'a Operation),
    UnknownPath,
    PublicPage,
    NotOurs,
}

pub fn subject<'a>(check: &'a WireCheck, sent: &SentRequest, status: u16) -> Subject<'a> {
    let path = sent.path();
    let Some(segments) = segments(path) else { return Subject::NotOurs };
    let known_method = METHODS.iter().any(|method| method.eq_ignore_ascii_case(&sent.method));
    if !known_method || sent.method == "CONNECT" || matches!(status, 414 | 431) {
        return Subject::NotOurs;
    }
    // A public page's path may have a trailing slash, because the server redirects such a path to
    // the page.
    let page = path.strip_suffix('/').filter(|page| !page.is_empty()).unwrap_or(path);
    let is_public = public_pages().any(|(public, _)| public == page);
    if is_public && !matches!(status, 401 | 404 | 429 | 500..) {
        return Subject::PublicPage;
    }
    let method = if sent.method == "HEAD" { "GET" } else { &sent.method };
    let matches_path = |operation: &&Operation| {
        segments.len() == operation.path.len()
            && operation.path.iter().zip(&segments).all(|(pattern, segment)| {
                pattern == segment || (pattern.starts_with('{') && !segment.is_empty())
            })
    };
    let operations: Vec<_> = check.operations.iter().filter(matches_path).collect();
    match (operations.iter().find(|operation| operation.method == method), operations.first()) {
        (Some(operation), _) => Subject::Operation(operation),
        (None, Some(operation)) => Subject::OtherMethod(operation),
        (None, None) => Subject::UnknownPath,
    }
}

fn segments(path: &str) -> Option<Vec<String>> {
    let segments = path.strip_prefix('/')?.split('/').map(decode);
    let segments: Option<Vec<_>> = segments.collect();
    segments.filter(|segments| !segments.iter().any(|segment| segment == "." || segment == ".."))
}

fn decode(segment: &str) -> Option<String> {
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

pub fn unknown_path(document: &Value, reader: Reader) -> BTreeMap<String, DocumentedResponse> {
    let shared = &document["components"]["responses"];
    let described = json!({
        "401": shared["Unauthorized"],
        "404": error(document, not_found_headers(document), "not_found", 404),
        "429": shared["TooManyRequests"],
        "5XX": shared["ServerError"],
    });
    responses(&described, reader)
}

/// Returns the allowed responses to a request whose path is documented, but whose method is not.
pub fn other_method(
    document: &Value,
    operation: &Value,
    reader: Reader,
) -> BTreeMap<String, DocumentedResponse> {
    let documented = &operation["responses"];
    let mut headers = documented["429"]["headers"].as_object().unwrap().clone();
    headers.remove("Retry-After");
    headers
        .insert("Allow".to_string(), json!({ "required": true, "schema": { "type": "string" } }));
    let described = json!({
        "401": documented["401"],
        "405": error(document, headers, "method_not_allowed", 405),
        "429": documented["429"],
        "5XX": documented["5XX"],
    });
    responses(&described, reader)
}

fn not_found_headers(document: &Value) -> Map<String, Value> {
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
