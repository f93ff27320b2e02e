//! Parses the header `traceparent` (W3C Trace Context), so that its trace id and span id can be
//! logged.

use http::{HeaderMap, HeaderValue};

const TRACEPARENT: &str = "traceparent";

/// The first version of the format. Later versions may have more fields after the flags.
const FIRST_VERSION: &str = "00";

/// The ids of a trace and of the span that sent a request, in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext<'a> {
    /// The id of the trace: 32 hexadecimal digits.
    pub trace_id: &'a str,
    /// The id of the span: 16 hexadecimal digits.
    pub span_id: &'a str,
}

/// Returns the `traceparent` header, if it was sent exactly once.
pub fn traceparent(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut sent = headers.get_all(TRACEPARENT).iter();
    sent.next().filter(|_| sent.next().is_none())
}

impl TraceContext<'_> {
    /// Parses a `traceparent`. Extra fields are accepted only in later versions.
    pub fn parse(value: &HeaderValue) -> Option<TraceContext<'_>> {
        let mut fields = value.to_str().ok()?.split('-');
        let version = parse_hex(fields.next()?, 2).filter(|version| *version != "ff")?;
        let trace_id = parse_hex(fields.next()?, 32).filter(|id| !is_zero(id))?;
        let span_id = parse_hex(fields.next()?, 16).filter(|id| !is_zero(id))?;
        parse_hex(fields.next()?, 2)?;
        let is_valid = version != FIRST_VERSION || fields.next().is_none();
        is_valid.then_some(TraceContext { trace_id, span_id })
    }
}

/// Returns the field if it consists of `digits` lower-case hexadecimal digits.
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

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

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
