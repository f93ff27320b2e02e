//! Writes the log line of each request. Each field that a client can choose is shortened, parsed or
//! withheld here, so that no line contains a key.
//!
//! This module encodes the JSON itself to save time. A line takes about 3,600 CPU instructions;
//! slog-json or serde would need twice as many.

use super::buffer::LogBuffer;
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use slog::{Drain, Level, Logger};
use std::borrow::Cow;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// The initial capacity of a line's buffer, enough for a line with a short path.
const LINE_CAPACITY_BYTES: usize = 512;

/// Longer paths are cut at this many characters in the log.
const LOGGED_PATH_CHARS: usize = 200;

/// The log cuts user agents to this many bytes, before it replaces invalid UTF-8.
const LOGGED_AGENT_BYTES: usize = 120;

/// The maximum length of a run of letters and digits in a path or a user agent. A longer run may be
/// part of a key, so the whole path or user agent is withheld. A key id is logged, because its
/// longest run has exactly this length.
///
/// [`LONGEST_NUMBER`] applies instead to a run of only digits. [`LONGEST_WORD`] applies to a run of
/// only letters in a user agent.
const LONGEST_RUN: usize = 12;
/// The maximum length of a run of only digits, such as an order id.
const LONGEST_NUMBER: usize = 19;

/// The maximum length of a run of only letters in a user agent, such as the name of a program.
const LONGEST_WORD: usize = 19;

const WITHHELD: &str = "[withheld: it may hold a key]";

const TRACEPARENT: &str = "traceparent";

/// The first version of the `traceparent` format. Later versions may have more fields after the
/// flags.
const FIRST_VERSION: &str = "00";

/// Logs a line for each request if the log's level includes info.
#[derive(Debug)]
pub struct RequestLog {
    buffer: Option<Arc<LogBuffer>>,
}

/// The fields of a request's line in the log. Does not implement `Debug`, because a client may have
/// put a key into some of them.
#[derive(Clone, Copy)]
pub struct RequestLine<'a> {
    /// The `x-request-id` of the response. Dropshot generates a new id for each request, so a
    /// client cannot choose the id.
    pub request_id: &'a str,
    /// The method as the client sent it. It is a token (RFC 9110), so it needs no escaping.
    pub method: &'a str,
    /// The path as sent, without the query. The log cuts a long path, and withholds a path that may
    /// contain a key.
    pub path: &'a str,
    pub status: u16,
    /// The length of the response body. `None` if the length is not known when the response begins.
    pub bytes: Option<u64>,
    /// The id of the account, if the key was valid.
    pub account: Option<i64>,
    /// The account's name, which the operator chose.
    pub account_name: Option<&'a str>,
    /// The key's id, `key_…`, if the key was valid.
    pub key_id: Option<&'a str>,
    /// The reason for a refusal, such as `unknown_key`, `rate_limited` or `banned`.
    pub refusal: Option<&'static str>,
    /// The client's address: the peer's, or the one that a trusted proxy reports.
    pub client: IpAddr,
    /// The client's `User-Agent`. The log cuts a long value, and withholds a value that may contain
    /// a key.
    pub user_agent: Option<&'a HeaderValue>,
    /// The client's [`traceparent`]. If the header is valid, the log shows its ids.
    pub traceparent: Option<&'a HeaderValue>,
    /// Time from the request's arrival to the head of the response.
    pub latency: Duration,
}

impl RequestLine<'_> {
    /// Appends the line. Uses `write!` only for the time, because `write!` is slow. Ignores errors,
    /// because writing to memory cannot fail.
    fn encode(&self, responded_at: Duration, line: &mut Vec<u8>) {
        let RequestLine { request_id, method, path, status, bytes, account, .. } = *self;
        let RequestLine { account_name, key_id, refusal, client, user_agent, .. } = *self;
        let RequestLine { traceparent, latency, .. } = *self;
        let trace = traceparent.and_then(TraceContext::parse);
        let time = UNIX_EPOCH.checked_add(responded_at).unwrap_or(UNIX_EPOCH);
        let time = humantime::format_rfc3339_millis(time);
        let _ = write!(line, r#"{{"time":"{time}""#);
        line.extend_from_slice(br#","level":"INFO","msg":"request","request_id":""#);
        line.extend_from_slice(request_id.as_bytes());
        line.extend_from_slice(br#"","method":""#);
        line.extend_from_slice(method.as_bytes());
        line.extend_from_slice(br#"","path":"#);
        append(line, redact_path(path));
        line.extend_from_slice(br#","status":"#);
        append(line, status);
        line.extend_from_slice(br#","bytes":"#);
        append(line, bytes);
        line.extend_from_slice(br#","account":"#);
        append(line, account);
        line.extend_from_slice(br#","account_name":"#);
        append(line, account_name);
        line.extend_from_slice(br#","key_id":"#);
        append(line, key_id);
        line.extend_from_slice(br#","refusal":"#);
        append(line, refusal);
        line.extend_from_slice(br#","client":"#);
        append(line, client);
        line.extend_from_slice(br#","user_agent":"#);
        append(line, user_agent.map(|agent| redact_user_agent(agent.as_bytes())));
        line.extend_from_slice(br#","trace_id":"#);
        append(line, trace.map(|trace| trace.trace_id));
        line.extend_from_slice(br#","span_id":"#);
        append(line, trace.map(|trace| trace.span_id));
        line.extend_from_slice(br#","latency_us":"#);
        append(line, latency.as_micros());
        line.extend_from_slice(b"}\n");
    }
}

fn append(line: &mut Vec<u8>, value: impl Serialize) {
    let _ = serde_json::to_writer(line, &value);
}

impl RequestLog {
    /// Without a buffer, or if the logger's level excludes info, the request log writes nothing.
    pub fn new(buffer: Option<Arc<LogBuffer>>, log: &Logger) -> RequestLog {
        RequestLog { buffer: buffer.filter(|_| log.is_enabled(Level::Info)) }
    }

    pub fn is_on(&self) -> bool {
        self.buffer.is_some()
    }

    /// Logs a request. `responded_at` is the Unix time at which the response began or the client
    /// disconnected. Calls `request` only if request lines are logged.
    pub fn write<'a>(&self, responded_at: Duration, request: impl FnOnce() -> RequestLine<'a>) {
        let Some(buffer) = &self.buffer else { return };
        let mut line = Vec::with_capacity(LINE_CAPACITY_BYTES);
        request().encode(responded_at, &mut line);
        buffer.add(&line);
    }
}

/// Shortens a path, or withholds it if it may contain a key.
fn redact_path(path: &str) -> &str {
    // A path has at most as many characters as bytes, so a short path needs no count.
    let short = match path.len() <= LOGGED_PATH_CHARS {
        true => path,
        false => {
            let end = path.char_indices().nth(LOGGED_PATH_CHARS).map(|(end, _)| end);
            path.get(..end.unwrap_or(path.len())).unwrap_or_default()
        }
    };
    if may_contain_key(short, LONGEST_RUN) { WITHHELD } else { short }
}

fn redact_user_agent(sent: &[u8]) -> Cow<'_, str> {
    let short = sent.get(..LOGGED_AGENT_BYTES).unwrap_or(sent);
    let text = String::from_utf8_lossy(short);
    if may_contain_key(&text, LONGEST_WORD) { WITHHELD.into() } else { text }
}

fn may_contain_key(text: &str, longest_word: usize) -> bool {
    let bytes = text.as_bytes();
    let is_too_long = |run: &[u8]| {
        // `LONGEST_RUN` is the lowest limit, so runs up to this length need no further check.
        run.len() > LONGEST_RUN && {
            let longest = match run {
                _ if run.iter().all(u8::is_ascii_digit) => LONGEST_NUMBER,
                _ if run.iter().all(u8::is_ascii_alphabetic) => longest_word,
                _ => LONGEST_RUN,
            };
            run.len() > longest
        }
    };
    bytes.contains(&b'%')
        || bytes.split(|byte| !byte.is_ascii_alphanumeric()).any(is_too_long)
        || bytes.windows(4).any(|four| four == b"sto_")
}

/// Returns the `traceparent` header, if it was sent exactly once.
pub fn traceparent(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut sent = headers.get_all(TRACEPARENT).iter();
    sent.next().filter(|_| sent.next().is_none())
}

/// The ids in a `traceparent` header, in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraceContext<'a> {
    trace_id: &'a str,
    span_id: &'a str,
}

impl TraceContext<'_> {
    /// Parses the value of a `traceparent` header. Returns `None` if the W3C Trace Context
    /// specification does not allow the value. In a version later than `FIRST_VERSION`, allows
    /// further fields at the end.
    fn parse(value: &HeaderValue) -> Option<TraceContext<'_>> {
        let mut fields = value.to_str().ok()?.split('-');
        let version = parse_hex(fields.next()?, 2).filter(|version| *version != "ff")?;
        let trace_id = parse_hex(fields.next()?, 32).filter(|id| !is_zero(id))?;
        let span_id = parse_hex(fields.next()?, 16).filter(|id| !is_zero(id))?;
        parse_hex(fields.next()?, 2)?;
        let is_valid = version != FIRST_VERSION || fields.next().is_none();
        is_valid.then_some(TraceContext { trace_id, span_id })
    }
}

fn parse_hex(field: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (field.len() == digits && field.bytes().all(is_digit)).then_some(field)
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_line_is_json_for_any_path() {
        let user_agent = HeaderValue::from_bytes(b"a \"b\"\t\xff").unwrap();
        let traceparent = format!("00-{TRACE}-{SPAN}-01").parse().unwrap();
        let mut request = RequestLine {
            request_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
            method: "GET",
            path: "/v1/a\"b\\c\n\u{1}é",
            status: 404,
            bytes: Some(17),
            account: None,
            account_name: None,
            key_id: None,
            refusal: Some("no_key"),
            client: "2001:db8::1".parse().unwrap(),
            user_agent: Some(&user_agent),
            traceparent: None,
            latency: Duration::from_nanos(1_234_567),
        };
        let responded_at = Duration::from_millis(1_781_524_800_007);
        let mut line = Vec::new();
        request.encode(responded_at, &mut line);
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let mut expected = json!({
            "time": "2026-06-15T12:00:00.007Z",
            "level": "INFO",
            "msg": "request",
            "request_id": request.request_id,
            "method": "GET",
            "path": request.path,
            "status": 404,
            "bytes": 17,
            "account": null,
            "account_name": null,
            "key_id": null,
            "refusal": "no_key",
            "client": "2001:db8::1",
            "user_agent": "a \"b\"\t\u{fffd}",
            "trace_id": null,
            "span_id": null,
            "latency_us": 1_234,
        });
        // Comparing strings also checks the order of the fields.
        assert_eq!(std::str::from_utf8(&line).unwrap().trim_end(), expected.to_string());

        (request.key_id, request.refusal) = (Some("key_1"), None);
        (expected["key_id"], expected["refusal"]) = (json!("key_1"), Value::Null);
        (request.account, request.bytes, request.user_agent) = (Some(7), None, None);
        expected["account"] = json!(7);
        request.account_name = Some("Acme \"A\"");
        expected["account_name"] = json!("Acme \"A\"");
        (expected["bytes"], expected["user_agent"]) = (Value::Null, Value::Null);
        request.traceparent = Some(&traceparent);
        (expected["trace_id"], expected["span_id"]) = (json!(TRACE), json!(SPAN));
        line.clear();
        request.encode(responded_at, &mut line);
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap(), expected);
    }

    #[test]
    fn a_path_that_may_contain_a_key_is_withheld() {
        assert_eq!(redact_path("/v1/store/orders"), "/v1/store/orders");
        let order = "/v1/store/orders/-9223372036854775808";
        assert_eq!(redact_path(order), order);
        assert!(!redact_path("/v1/01234567890123456789").contains('9'));
        assert!(!redact_path("/v1/Ab01234567890").contains("Ab"));
        assert!(!redact_path("/v1/Abcdefghijklm").contains("Ab"));
        assert!(!redact_path("/v1/store/sto_live_abc").contains("sto_"));
        assert!(!redact_path("/v1/s%74o_live_abc").contains("_live_"));
        assert_eq!(redact_path(&"/é".repeat(500)).chars().count(), 200);
        let long_in_bytes = "/é".repeat(90);
        assert_eq!(redact_path(&long_in_bytes), long_in_bytes);
    }

    #[test]
    fn a_long_user_agent_is_cut_and_a_possible_key_is_withheld() {
        for agent in [
            "curl/8.5.0",
            "PostmanRuntime/7.43.0",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/142.0.0.0",
            "store-orders-client/1.1.0",
            "",
        ] {
            assert_eq!(redact_user_agent(agent.as_bytes()), agent);
        }
        for agent in ["sto_live_abc", "x/4fQm0ZxW7yTb1", "a%41", &"A".repeat(20)] {
            assert_eq!(redact_user_agent(agent.as_bytes()), WITHHELD);
        }
        assert_eq!(redact_user_agent(&b"a ".repeat(200)).len(), LOGGED_AGENT_BYTES);
        assert_eq!(redact_user_agent(b"a\xff\tb"), "a\u{fffd}\tb");
    }

    #[test]
    fn valid_ids_are_read() {
        for value in [
            format!("00-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-ff"),
            format!("cc-{TRACE}-{SPAN}-01"),
            format!("cc-{TRACE}-{SPAN}-01-what-comes-later"),
        ] {
            let expected = TraceContext { trace_id: TRACE, span_id: SPAN };
            let value = value.parse().unwrap();
            assert_eq!(TraceContext::parse(&value), Some(expected), "{value:?}");
        }
    }

    #[test]
    fn invalid_values_are_ignored() {
        let (zero_trace, zero_span) = ("0".repeat(32), "0".repeat(16));
        for value in [
            String::new(),
            "00".to_string(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("00-{zero_trace}-{SPAN}-01"),
            format!("00-{TRACE}-{zero_span}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", TRACE.replace('4', "g")),
            format!("00-{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}-{SPAN}0-01"),
            format!(" 00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01"),
        ] {
            assert_eq!(TraceContext::parse(&value.parse().unwrap()), None, "{value}");
        }
    }

    #[test]
    fn traceparent_is_read_only_if_it_was_sent_once() {
        let mut headers = HeaderMap::new();
        assert_eq!(traceparent(&headers), None);
        headers.append(TRACEPARENT, "a".parse().unwrap());
        assert_eq!(traceparent(&headers).unwrap(), "a");
        headers.append(TRACEPARENT, "a".parse().unwrap());
        assert_eq!(traceparent(&headers), None);
    }
}
