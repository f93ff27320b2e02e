//! Parses parameters strictly by their schemas, and rejects unknown query parameters. Each error
//! message says what the client must send instead.

use crate::schemas::Documented;
use async_trait::async_trait;
use chrono::{DateTime, Datelike, Timelike, Utc};
use dropshot::{
    ApiEndpointBodyContentType, ExtractorMetadata, Header, HttpError, Path, Query, RequestContext,
    ServerContext, SharedExtractor,
};
use http::{HeaderMap, HeaderValue};
use regex::Regex;
use schemars::JsonSchema;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// An error repeats an unknown parameter's name only if the name is at most this long. API keys are
/// longer, so no error repeats a key.
const MAX_NAME_CHARS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    Path,
    Query,
    Header,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Location::Path => "path parameter",
            Location::Query => "query parameter",
            Location::Header => "header",
        })
    }
}

/// The reason why the parameters or the body of a request are invalid. An invalid request does not
/// reach its handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// A parameter does not match its schema. The last field is the expected value in words.
    Malformed(Location, &'static str, String),
    Missing(Location, &'static str),
    Repeated(Location, &'static str),
    /// An unknown query parameter: its name, and the supported names. The name is `None` if it is
    /// not short and plain enough for an error message.
    Unknown(Option<String>, &'static [&'static str]),
    /// The body could not be parsed, for this reason.
    Body(String),
    /// A member of the body does not match its schema. The last field is the expected value in
    /// words.
    Member(&'static str, String),
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Malformed(location, name, expected) => {
                write!(f, "The {location} {name} must be {expected}.")
            }
            Invalid::Missing(location, name) => {
                write!(f, "The {location} {name} is missing. Send it.")
            }
            Invalid::Repeated(location, name) => {
                write!(f, "The {location} {name} was sent more than once. Send it once.")
            }
            Invalid::Unknown(name, supported) => {
                let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
                let supported = supported.join(", ");
                write!(f, "Unknown query parameter{name}. Supported: {supported}.")
            }
            Invalid::Body(reason) => write!(f, "The body of the request is invalid: {reason}"),
            Invalid::Member(name, expected) => {
                write!(f, "The member {name} of the body must be {expected}.")
            }
        }
    }
}

impl std::error::Error for Invalid {}

/// The name of the cursor parameter in every list that has pages.
const CURSOR: &str = "cursor";

/// An operation's parameters in one location, such as the query.
pub trait Parameters: JsonSchema + Send + Sync + Sized + 'static {
    const LOCATION: Location;
    /// The names of the parameters, as in the document.
    const NAMES: &'static [&'static str];

    /// Parses the parameters. Fails if one of them does not match its schema, is required but
    /// missing, or is repeated in the query.
    fn read(sent: &SentParameters<'_>) -> Result<Self, Invalid>;
}

/// The names and values of a request's parameters in one location: the path, the query or the
/// headers.
#[derive(Debug)]
pub struct SentParameters<'a> {
    location: Location,
    values: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> SentParameters<'a> {
    /// Splits a query, the part of a URL after `?`. Fails if a name is not in `known`.
    pub fn from_query(
        query: &'a str,
        known: &'static [&'static str],
    ) -> Result<SentParameters<'a>, Invalid> {
        let values: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        match values.iter().find(|(name, _)| !known.contains(&&**name)) {
            Some((name, _)) => Err(Invalid::Unknown(repeatable(name), known)),
            None => Ok(SentParameters { location: Location::Query, values }),
        }
    }

    /// Reads the known headers. Joins the values of a repeated header with commas (RFC 9110, 5.3).
    fn from_headers(headers: &'a HeaderMap, known: &'static [&'static str]) -> SentParameters<'a> {
        let text = |value: &'a HeaderValue| String::from_utf8_lossy(value.as_bytes());
        let value = |name: &&'static str| {
            let lines = headers.get_all(*name).iter().map(text);
            let whole = lines.reduce(|whole, line| format!("{whole}, {line}").into())?;
            Some((Cow::Borrowed(*name), whole))
        };
        SentParameters {
            location: Location::Header,
            values: known.iter().filter_map(value).collect(),
        }
    }

    /// Takes the variables of the path. Dropshot has already decoded them.
    fn from_path(variables: BTreeMap<String, String>) -> SentParameters<'a> {
        let values = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        SentParameters { location: Location::Path, values: values.collect() }
    }

    /// Returns `None` if the parameter was not sent. Fails if the parameter was repeated or does
    /// not match the rule.
    pub fn optional<R: Rule>(
        &self,
        name: &'static str,
        rule: &R,
    ) -> Result<Option<R::Value>, Invalid> {
        let mut values = self.values.iter().filter(|(sent, _)| sent == name);
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some((_, text)), None) => self.parse(name, text, rule).map(Some),
            (Some(_), Some(_)) => Err(Invalid::Repeated(self.location, name)),
        }
    }

    /// Returns the value of a parameter. Fails in the same cases as [`optional`](Self::optional),
    /// and if the parameter was not sent.
    pub fn required<R: Rule>(&self, name: &'static str, rule: &R) -> Result<R::Value, Invalid> {
        self.optional(name, rule)?.ok_or(Invalid::Missing(self.location, name))
    }

    fn parse<R: Rule>(
        &self,
        name: &'static str,
        text: &str,
        rule: &R,
    ) -> Result<R::Value, Invalid> {
        rule.parse(text).ok_or_else(|| {
            // In a query, an unencoded `+` means a space. So if the rule allows plus signs, a space
            // in the value is probably a plus sign that the client did not encode.
            let hint = if name == CURSOR && text.is_empty() {
                "; leave it out for the first page"
            } else if R::MAY_HAVE_PLUS && self.location == Location::Query && text.contains(' ') {
                "; write a + in it as %2B"
            } else {
                ""
            };
            Invalid::Malformed(self.location, name, format!("{}{hint}", rule.expected()))
        })
    }
}

/// Returns the name of an unknown parameter if the name is short and plain enough for an error
/// message.
fn repeatable(name: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.[]".contains(letter);
    let repeats = (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_plain);
    repeats.then(|| name.to_string())
}

/// The parameters of an operation, or [`Invalid`]. Invalid parameters do not fail the extraction.
#[derive(Debug)]
pub struct Strict<P>(pub Result<P, Invalid>);

#[async_trait]
impl<P: Parameters> SharedExtractor for Strict<P> {
    async fn from_request<Context: ServerContext>(
        context: &RequestContext<Context>,
    ) -> Result<Self, HttpError> {
        let request = &context.request;
        let read = match P::LOCATION {
            Location::Path => {
                let path =
                    <Path<BTreeMap<String, String>> as SharedExtractor>::from_request(context);
                P::read(&SentParameters::from_path(path.await?.into_inner()))
            }
            Location::Query => {
                SentParameters::from_query(request.uri().query().unwrap_or_default(), P::NAMES)
                    .and_then(|sent| P::read(&sent))
            }
            Location::Header => P::read(&SentParameters::from_headers(request.headers(), P::NAMES)),
        };
        Ok(Strict(read))
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        match P::LOCATION {
            Location::Path => <Path<Documented<P>> as SharedExtractor>::metadata(body),
            Location::Query => <Query<Documented<P>> as SharedExtractor>::metadata(body),
            Location::Header => <Header<Documented<P>> as SharedExtractor>::metadata(body),
        }
    }
}

pub trait Rule {
    /// The type into which a valid value is parsed.
    type Value;
    /// True if a valid value may contain a plus sign. An unencoded plus arrives as a space, so the
    /// error for a query value with a space suggests `%2B`.
    const MAY_HAVE_PLUS: bool = false;

    /// Parses the text of a parameter. Returns `None` if the text does not match the schema.
    fn parse(&self, text: &str) -> Option<Self::Value>;

    /// Describes the valid values in words.
    fn expected(&self) -> String;

    /// True if a parsed value is within the rule's bounds and matches its pattern.
    fn holds(&self, _: &Self::Value) -> bool {
        true
    }
}

/// An integer in plain decimal notation. Forms such as `+1`, `01`, `-0`, `1.0` and `1e3` are
/// invalid.
#[derive(Clone, Copy, Debug)]
pub struct Integer<T> {
    min: Option<T>,
    max: Option<T>,
}

impl<T> Integer<T> {
    pub const ANY: Integer<T> = Integer { min: None, max: None };

    /// An integer within these bounds, inclusive.
    pub const fn within(min: Option<T>, max: Option<T>) -> Integer<T> {
        Integer { min, max }
    }
}

impl<T: FromStr + PartialOrd + fmt::Display> Rule for Integer<T> {
    type Value = T;

    fn parse(&self, text: &str) -> Option<T> {
        let value: T = if is_plain_integer(text) { text.parse().ok()? } else { return None };
        self.holds(&value).then_some(value)
    }

    fn expected(&self) -> String {
        match (&self.min, &self.max) {
            (None, None) => {
                let bits = 8 * size_of::<T>();
                format!("a {bits}-bit integer in plain decimal, such as 42")
            }
            (Some(min), None) => format!("an integer of at least {min}"),
            (None, Some(max)) => format!("an integer of at most {max}"),
            (Some(min), Some(max)) => format!("an integer from {min} to {max}"),
        }
    }

    fn holds(&self, value: &T) -> bool {
        self.min.as_ref().is_none_or(|min| min <= value)
            && self.max.as_ref().is_none_or(|max| value <= max)
    }
}

/// Parses a 64-bit integer in plain decimal; see [`Integer`].
pub fn plain_int64(text: &str) -> Option<i64> {
    Integer::ANY.parse(text)
}

fn is_plain_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Boolean;

impl Rule for Boolean {
    type Value = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        text.parse().ok()
    }

    fn expected(&self) -> String {
        "true or false".to_string()
    }
}

/// The rule of a string parameter. Without a pattern, any string is valid.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    form: Option<&'static Pattern>,
}

impl Text {
    pub const ANY: Text = Text { form: None };

    /// Requires the string to match this pattern instead of any earlier pattern.
    pub const fn with_pattern(self, form: &'static Pattern) -> Text {
        Text { form: Some(form) }
    }
}

impl Rule for Text {
    type Value = String;

    fn parse(&self, text: &str) -> Option<String> {
        let text = text.to_string();
        self.holds(&text).then_some(text)
    }

    fn expected(&self) -> String {
        let form = self.form.map(|form| format!(" that matches {}", form.text)).unwrap_or_default();
        format!("a text{form}")
    }

    fn holds(&self, value: &String) -> bool {
        self.form.is_none_or(|form| form.matches(value))
    }
}

/// A regular expression, compiled on first use.
#[derive(Debug)]
pub struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern from the regular expression `text`. The generator refuses documents with
    /// patterns that do not compile.
    pub const fn new(text: &'static str) -> Pattern {
        Pattern { text, compiled: OnceLock::new() }
    }

    fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.text).ok());
        compiled.as_ref().is_some_and(|compiled| compiled.is_match(text))
    }
}

/// Accepts the name of one of an enum's values. Names are case-sensitive.
#[derive(Debug)]
pub struct OneOf<E: 'static>(pub &'static [(&'static str, E)]);

impl<E: Copy> Rule for OneOf<E> {
    type Value = E;

    fn parse(&self, text: &str) -> Option<E> {
        self.0.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }

    fn expected(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|(name, _)| *name).collect();
        match names.split_last() {
            Some((last, [])) => last.to_string(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => "one of no values".to_string(),
        }
    }
}

/// An RFC 3339 time with any offset. Its year must have four digits, even after conversion to UTC.
#[derive(Clone, Copy, Debug)]
pub struct Time;

impl Rule for Time {
    type Value = DateTime<Utc>;
    const MAY_HAVE_PLUS: bool = true;

    fn parse(&self, text: &str) -> Option<DateTime<Utc>> {
        parse_date_time(text)
    }

    fn expected(&self) -> String {
        "a time of RFC 3339, such as 2026-12-24T09:30:00Z".to_string()
    }
}

/// Parses a date-time of RFC 3339, section 5.6, with any offset. Returns `None` for other text, and
/// if the year is not 0000 to 9999 after the conversion to UTC.
///
/// Unlike chrono, rejects U+2212 as a minus sign, and accepts second 60 only at the end of a day in
/// UTC. Converts second 60 to the next second, because most programs cannot represent leap seconds.
pub fn parse_date_time(text: &str) -> Option<DateTime<Utc>> {
    if !text.is_ascii() {
        return None;
    }
    let mut time = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    // Chrono represents a leap second as second 59 with a billion or more nanoseconds.
    if let Some(nanos) = time.nanosecond().checked_sub(1_000_000_000) {
        if (time.hour(), time.minute()) != (23, 59) {
            return None;
        }
        time = DateTime::from_timestamp(time.timestamp().checked_add(1)?, nanos)?;
    }
    (0..=9999).contains(&time.year()).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v2::ListOrdersQuery;

    #[test]
    fn an_integer_is_in_plain_decimal() {
        for (text, value) in [
            ("0", 0),
            ("7", 7),
            ("-7", -7),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(plain_int64(text), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "-01",
            "00",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "0x1",
            "１",
            "1_000",
            "9223372036854775808",
            "-9223372036854775809",
        ] {
            assert_eq!(plain_int64(text), None, "{text}");
        }
    }

    #[test]
    fn bounds_are_inclusive_and_patterns_count_characters() {
        let page = Integer::within(Some(1), Some(10));
        assert_eq!(
            [0, 1, 10, 11].map(|n| page.parse(&n.to_string())),
            [None, Some(1), Some(10), None]
        );
        assert_eq!(page.expected(), "an integer from 1 to 10");
        assert_eq!(Integer::within(Some(1), None).expected(), "an integer of at least 1");
        assert_eq!(Integer::<i32>::ANY.parse("2147483648"), None);
        static WORD: Pattern = Pattern::new("^[a-zé]{1,3}$");
        let word = Text::ANY.with_pattern(&WORD);
        // Repetitions count characters, not bytes.
        assert_eq!(["é", "ééé"].map(|n| word.parse(n).is_some()), [true, true]);
        assert_eq!(["", "éééé", "A"].map(|n| word.parse(n)), [None, None, None]);
        assert_eq!(word.expected(), "a text that matches ^[a-zé]{1,3}$");
    }

    fn refused(query: &str) -> String {
        let sent = SentParameters::from_query(query, ListOrdersQuery::NAMES);
        sent.and_then(|sent| ListOrdersQuery::read(&sent)).unwrap_err().to_string()
    }

    #[test]
    fn the_error_names_the_invalid_parameter() {
        for (query, name) in [
            ("limit=0", "limit"),
            ("limit=1001", "limit"),
            ("limit=+5", "limit"),
            ("limit=05", "limit"),
            ("limit=5.0", "limit"),
            ("limit=99999999999999999999", "limit"),
            ("limit", "limit"),
            ("limit=1&limit=1", "limit"),
            ("petId=", "petId"),
            ("petId=1&petId=2", "petId"),
            ("petId=9223372036854775808", "petId"),
            ("pet_id=7", "pet_id"),
            ("petid=7", "petid"),
            ("petId[]=7", "petId[]"),
            ("status=cancelled", "status"),
            ("status=Pending", "status"),
            ("complete=1", "complete"),
            ("complete=TRUE", "complete"),
            ("shipDateFrom=2026-12-24", "shipDateFrom"),
            ("shipDateFrom=2026-12-24T09:30:00", "shipDateFrom"),
            // In a query, `+` means a space.
            ("shipDateFrom=2026-12-24T09:30:00+02:00", "shipDateFrom"),
            ("shipDateFrom=2026-12-24T09:30:00%E2%88%9202:00", "shipDateFrom"),
            ("shipDateFrom=2026-12-24T09:30:60Z", "shipDateFrom"),
            // In UTC, the year is 10000.
            ("shipDateFrom=9999-12-31T23:59:59-01:00", "shipDateFrom"),
            ("status=pending&offset=3", "offset"),
        ] {
            let message = refused(query);
            let named = [format!(" {name} "), format!(" {name}. ")];
            assert!(named.iter().any(|name| message.contains(name)), "{query}: {message}");
        }
        for odd in ["sto_live_0123456789abcdefghijABCDEFGHIJ012345=1", "%00=1", "=1", "a%20b=1"] {
            let message = refused(odd);
            assert!(message.starts_with("Unknown query parameter. "), "{odd}: {message}");
        }
    }

    #[test]
    fn the_error_describes_valid_values() {
        for (query, message) in [
            ("limit=0", "The query parameter limit must be an integer from 1 to 1000."),
            (
                "petId=x",
                "The query parameter petId must be a 64-bit integer in plain decimal, such as 42.",
            ),
            ("status=x", "The query parameter status must be pending or shipped."),
            ("complete=x", "The query parameter complete must be true or false."),
            (
                "shipDateFrom=2026-12-24T09:30:00%2B0100",
                "The query parameter shipDateFrom must be a time of RFC 3339, such as \
                 2026-12-24T09:30:00Z.",
            ),
            (
                "shipDateFrom=2026-12-24T09:30:00+01:00",
                "The query parameter shipDateFrom must be a time of RFC 3339, such as \
                 2026-12-24T09:30:00Z; write a + in it as %2B.",
            ),
            ("limit=1&limit=2", "The query parameter limit was sent more than once. Send it once."),
            (
                "x=1",
                "Unknown query parameter x. Supported: petId, status, shipDateFrom, \
                 shipDateBefore, complete, limit, cursor.",
            ),
        ] {
            assert_eq!(refused(query), message);
        }
    }
}
