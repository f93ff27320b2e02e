//! Checks one response against the documented response for its status.

use super::documented::{DocumentedHeader, DocumentedResponse};
use super::messages::{ReceivedResponse, SentRequest};
use super::schema::Reader;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Read;

/// Headers of HTTP itself, which the documents do not list.
const HTTP_HEADERS: [&str; 7] = [
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "date",
    "vary",
];

pub fn header_label(name: &str) -> String {
    format!(" header {name}")
}

pub fn code_label(code: &str) -> String {
    format!(" code {code}")
}

pub fn parameter_label(name: &str) -> String {
    format!(" parameter {name}")
}

/// Returns the differences between a response and its documentation, except for additions that
/// `reader` allows.
pub fn violations(
    reader: Reader,
    response: &DocumentedResponse,
    sent: &SentRequest,
    received: &ReceivedResponse,
) -> Vec<String> {
    let mut wrong: Vec<_> =
        response.headers.iter().flat_map(|header| header_violations(header, received)).collect();
    if reader == Reader::Closed {
        let names = received.headers.keys().map(|name| name.as_str());
        let documented = |name: &str| {
            HTTP_HEADERS.contains(&name) || response.headers.iter().any(|h| h.name == name)
        };
        let others = names.filter(|name| !documented(name));
        wrong.extend(others.map(|name| format!("{name} is not documented")));
    }
    wrong.extend(body_violations(reader, response, sent, received));
    wrong
}

/// Returns the labels of the documented parts that a response contains. The empty label stands for
/// the status itself.
pub fn shown_labels(response: &DocumentedResponse, received: &ReceivedResponse) -> Vec<String> {
    let documented = response.headers.iter().filter(|h| received.headers.contains_key(&h.name));
    let mut shown: Vec<_> = documented.map(|h| header_label(&h.name)).collect();
    shown.push(String::new());
    if let (Some(fields), Ok(body)) = (&response.fields, body(received)) {
        let mut labels = BTreeSet::new();
        fields.shown(&body, &mut labels);
        shown.extend(labels.into_iter().map(str::to_string));
        let code = body["code"].as_str().filter(|_| received.status >= 400);
        shown.extend(code.map(code_label));
    }
    shown
}

/// Returns the violations in a response to a request for a public page. Such requests are not
/// counted, so the response must have no rate limit headers.
pub fn public_page_violations(received: &ReceivedResponse) -> Vec<String> {
    let counted = received.headers.keys().filter(|name| name.as_str().starts_with("x-ratelimit"));
    let mut wrong: Vec<_> =
        counted.map(|name| format!("{name} on a page that is not counted")).collect();
    if !matches!(received.status, 200 | 304 | 308 | 405) {
        wrong.push("no status of a public page".to_string());
    }
    wrong
}

fn header_violations(header: &DocumentedHeader, received: &ReceivedResponse) -> Vec<String> {
    let values: Vec<_> = received.headers.get_all(&header.name).iter().collect();
    match values.as_slice() {
        [] if header.required => vec![format!("{} is missing", header.name)],
        [] => Vec::new(),
        [value] => {
            let errors = match value.to_str() {
                Ok(text) => header.value.header_errors(text),
                Err(error) => vec![error.to_string()],
            };
            errors.into_iter().map(|error| format!("{}: {error}", header.name)).collect()
        }
        several => vec![format!("{} came {} times", header.name, several.len())],
    }
}

fn body_violations(
    reader: Reader,
    response: &DocumentedResponse,
    sent: &SentRequest,
    received: &ReceivedResponse,
) -> Vec<String> {
    let media = received.headers.get("content-type").map(|value| value.as_bytes());
    let Some(check) = &response.body else {
        let empty = media.is_none() && received.body.is_empty();
        return if empty { vec![] } else { vec!["a body where none is documented".to_string()] };
    };
    let mut wrong = Vec::new();
    if media != Some(b"application/json") {
        wrong.push("content-type is not application/json".to_string());
    }
    if sent.method == "HEAD" {
        return wrong;
    }
    match body(received) {
        Err(error) => wrong.push(format!("the body is not JSON: {error}")),
        Ok(body) => {
            wrong.extend(check.body_errors(&body));
            wrong.extend(code_violation(reader, response, received.status, &body));
        }
    }
    wrong
}

/// Checks the body's `status` and `code`, if the document has error codes for the response. With
/// [`Reader::Open`], any code is allowed.
fn code_violation(
    reader: Reader,
    response: &DocumentedResponse,
    status: u16,
    body: &Value,
) -> Option<String> {
    if response.codes.is_empty() {
        return None;
    }
    let is_documented =
        |(documented, code): &(u16, String)| *documented == status && body["code"] == code.as_str();
    let is_known = reader == Reader::Open || response.codes.iter().any(is_documented);
    let agrees = body["status"] == status && is_known;
    (!agrees).then(|| format!("code {} and status {}", body["code"], body["status"]))
}

fn body(received: &ReceivedResponse) -> Result<Value, String> {
    let encoding = received.headers.get("content-encoding").map(|value| value.as_bytes());
    let plain = match encoding {
        None => received.body.clone(),
        Some(b"gzip") => {
            let mut plain = Vec::new();
            let mut decoder = flate2::read::MultiGzDecoder::new(received.body.as_slice());
            decoder.read_to_end(&mut plain).map_err(|error| error.to_string())?;
            plain
        }
        Some(_) => return Err("an unknown content-encoding".to_string()),
    };
    serde_json::from_slice(&plain).map_err(|error| error.to_string())
}
