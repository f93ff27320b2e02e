//! Reads the answers of a connection, and judges each by itself: which request it answers
//! cannot be told of requests that are not well-formed.

use serde_json::Value;
use std::collections::BTreeMap;

/// On every answer inside the limits.
const LIMIT_HEADERS: [&str; 3] =
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];

/// Statuses of the document, but for those of a server that fails.
const OURS: [u16; 6] = [400, 401, 404, 405, 409, 429];

/// What hyper answers itself, with an empty body.
const HYPERS: [u16; 3] = [400, 414, 431];

/// What dropshot answers itself, in its own shape.
const DROPSHOTS: [u16; 2] = [400, 405];

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// What was sent on the connection of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub has_valid_key: bool,
    pub names_public_page: bool,
    pub has_head: bool,
}

/// The whole answers at the front of what was received. `Err` if something there is no
/// HTTP.
pub fn whole_answers(mut received: &[u8], sent: Sent) -> Result<Vec<Answer>, String> {
    let mut answers = Vec::new();
    while !received.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut head = httparse::Response::new(&mut headers);
        let length = match head.parse(received) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => break,
            Err(error) => return Err(format!("no HTTP: {error}")),
        };
        let status = head.code.unwrap_or(0);
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let named =
            |header: &httparse::Header<'_>| (header.name.to_ascii_lowercase(), text(header.value));
        let headers: BTreeMap<String, String> = head.headers.iter().map(named).collect();
        let rest = received.get(length..).unwrap_or_default();
        if (100..200).contains(&status) {
            received = rest;
            continue;
        }
        // An answer to HEAD, which has the length of a body and no body.
        let is_bare = matches!(status, 204 | 304)
            || (sent.has_head && (rest.is_empty() || rest.starts_with(b"HTTP/1.")));
        let body = if is_bare { Some((Vec::new(), rest)) } else { body(rest, &headers)? };
        let Some((body, rest)) = body else { break };
        answers.push(Answer { status, headers, body });
        received = rest;
    }
    Ok(answers)
}

type BodyAndRest<'a> = (Vec<u8>, &'a [u8]);

/// The body and what follows it; `None` if it is not whole.
fn body<'a>(
    mut rest: &'a [u8],
    headers: &BTreeMap<String, String>,
) -> Result<Option<BodyAndRest<'a>>, String> {
    if let Some(length) = headers.get("content-length") {
        let length: usize = length.parse().map_err(|_| format!("Content-Length: {length}"))?;
        return Ok(rest.split_at_checked(length).map(|(body, rest)| (body.to_vec(), rest)));
    }
    if headers.get("transfer-encoding").is_none_or(|value| value != "chunked") {
        return Err("an answer without a length".to_string());
    }
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((start, length))) => {
                let length = usize::try_from(length).map_err(|error| error.to_string())?;
                let chunk = rest.get(start..).and_then(|rest| rest.split_at_checked(length));
                let Some((chunk, after)) = chunk else { return Ok(None) };
                let Some(after) = after.strip_prefix(b"\r\n") else {
                    return if after.len() < 2 { Ok(None) } else { Err("no chunk".to_string()) };
                };
                body.extend_from_slice(chunk);
                rest = after;
                if length == 0 {
                    return Ok(Some((body, rest)));
                }
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("no chunk size".to_string()),
        }
    }
}

impl Answer {
    /// What the contract does not allow of it.
    pub fn violation(&self, sent: Sent) -> Option<String> {
        let says = |what: &str| Some(format!("{}: {what}", self.status));
        let has_limits = LIMIT_HEADERS.iter().all(|name| self.number(name).is_some());
        match self.status {
            200..300 if !sent.has_valid_key && has_limits => says("without a valid key"),
            200 if has_limits || sent.names_public_page => None,
            204 if has_limits && sent.has_valid_key => None,
            200 | 204 => says("neither a public page nor with rate limit headers"),
            // A public page that the client has already.
            304 if sent.names_public_page => None,
            _ if self.body.is_empty() && sent.has_head && has_limits => None,
            _ => self.refusal_violation(sent, has_limits),
        }
    }

    fn refusal_violation(&self, sent: Sent, has_limits: bool) -> Option<String> {
        let says = |what: &str| {
            let body = String::from_utf8_lossy(&self.body);
            let body: String = body.chars().take(300).collect();
            Some(format!("{}: {what}: {:?} {body:?}", self.status, self.headers))
        };
        if self.body.is_empty() {
            let is_hypers = HYPERS.contains(&self.status);
            // HEAD for a public page that has other methods.
            let is_bare = sent.has_head;
            return if is_hypers || is_bare { None } else { says("without a body") };
        }
        let Ok(error) = serde_json::from_slice::<Value>(&self.body) else {
            return says("its body is no JSON");
        };
        let is_text = |name: &str| error.get(name).is_some_and(Value::is_string);
        if is_text("request_id") && is_text("message") && error.get("code").is_none() {
            let is_dropshots = DROPSHOTS.contains(&self.status);
            return if is_dropshots { None } else { says("from dropshot") };
        }
        if !is_text("code")
            || !is_text("message")
            || error.get("status") != Some(&self.status.into())
        {
            return says("not in the shape of Error");
        }
        if !OURS.contains(&self.status) {
            return says("from a server that works");
        }
        let is_public = self.status == 405 && sent.names_public_page;
        if !has_limits && !is_public {
            return says("without rate limit headers");
        }
        let required = match self.status {
            401 => "www-authenticate",
            405 => "allow",
            429 => "retry-after",
            _ => "x-request-id",
        };
        if self.headers.contains_key(required) { None } else { says(required) }
    }

    fn number(&self, header: &str) -> Option<u64> {
        self.headers.get(header)?.parse().ok()
    }
}
