//! Reads the headers with which a client negotiates a response (RFC 9110):
//!
//! - `Accept-Encoding` asks for gzip (12.5.3).
//! - `If-None-Match` asks for a 304 if the client already has the body (13.1.2).
//! - `If-Match` asks for a 412 instead of a cancellation if the order has changed since the client
//!   read it (13.1.1).

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Returns the elements of a header with their weights. The default weight is 1 (RFC 9110, 12.4.2).
fn quality_values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = (&str, f32)> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        (coding, parts.find_map(parse_weight).unwrap_or(1.0))
    })
}

fn parse_weight(parameter: &str) -> Option<f32> {
    let (name, weight) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| weight.trim().parse().ok())?
}

/// True if `Accept-Encoding` gives `gzip` a weight above 0. Without `gzip`, the weight of `*`
/// applies (RFC 9110, 12.5.3).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut wildcard) = (None, None);
    for (coding, weight) in quality_values(headers, header::ACCEPT_ENCODING) {
        let is_accepted = Some(weight != 0.0);
        if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
            gzip = is_accepted;
        } else if coding == "*" {
            wildcard = is_accepted;
        }
    }
    gzip.or(wildcard).unwrap_or(false)
}

/// True if this `If-None-Match` is `*` or contains the tag. The comparison ignores `W/`. Tags after
/// a malformed tag are ignored.
pub fn field_matches_tag(if_none_match: &str, tag: &str) -> bool {
    is_any(if_none_match) || tags(if_none_match).any(|sent| opaque(sent) == opaque(tag))
}

/// Returns the tags in this `If-Match`, or `None` for `*`. Tags after a malformed tag are ignored.
/// A request may therefore be refused although a later tag matches. This is safe, because a refused
/// request changes nothing.
pub fn required_tags(if_match: &str) -> Option<RequiredTags<'_>> {
    (!is_any(if_match)).then_some(RequiredTags(if_match))
}

#[derive(Clone, Copy, Debug)]
pub struct RequiredTags<'a>(&'a str);

impl RequiredTags<'_> {
    /// True if the tags contain this strong tag. The comparison is strong, so a tag with `W/` never
    /// matches.
    pub fn contain(self, strong_tag: &HeaderValue) -> bool {
        tags(self.0).any(|sent| sent.as_bytes() == strong_tag.as_bytes())
    }
}

fn is_any(field: &str) -> bool {
    field.trim() == "*"
}

/// Returns the entity tags in a list, up to the first malformed tag. A tag may contain commas.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let list = rest.trim_start_matches([' ', '\t', ',']);
        let quoted = opaque(list);
        let end = list.len() - quoted.len() + quoted.strip_prefix('"')?.find('"')? + 2;
        let (tag, after) = list.split_at_checked(end)?;
        rest = after;
        Some(tag)
    })
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod property_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_matches_itself_a_list_that_contains_it_and_a_star() {
        for tag in ["W/\"a-1\"", "\"a-1\""] {
            for field in [
                "W/\"a-1\"",
                "\"a-1\"",
                " W/\"a-1\" ",
                "\"b\", W/\"a-1\"",
                "\"b\",\"a-1\",\"c\"",
                ", ,\t\"a-1\"",
                "\"b, c\", \"a-1\"",
                "\"\", \"a-1\"",
                "*",
                " * ",
            ] {
                assert!(field_matches_tag(field, tag), "{field:?}");
            }
        }
    }

    #[test]
    fn a_tag_matches_no_other_field() {
        for field in [
            "",
            ",",
            "a-1",
            "\"a-1",
            "a-1\"",
            "\"b\"",
            "\"a-1 \"",
            "\"A-1\"",
            "w/\"a-1\"",
            "W/ \"a-1\"",
            "W/W/\"a-1\"",
            "\"x, W/\"a-1\"",
            "a, \"a-1\"",
            "*, \"b\"",
            "\"b\", *",
            "**",
        ] {
            assert!(!field_matches_tag(field, "W/\"a-1\""), "{field:?}");
        }
        // A comma inside a tag does not end the tag.
        assert!(
            field_matches_tag("\"a, b\"", "\"a, b\"") && !field_matches_tag("\"a, b\"", "\"b\"")
        );
    }

    #[test]
    fn if_match_requires_a_strong_tag() {
        let contain =
            |field| required_tags(field).unwrap().contain(&HeaderValue::from_static("\"a-1\""));
        for field in
            ["\"a-1\"", " , \"a-1\" ", "\"b\", \"a-1\"", "W/\"b, c\",\"a-1\"", "W/\"a-1\", \"a-1\""]
        {
            assert!(contain(field), "{field:?}");
        }
        for field in
            ["W/\"a-1\"", "\"b\", W/\"a-1\"", "", "a-1", "\"a-1", "\"b\"", "a, \"a-1\"", "*, \"b\""]
        {
            assert!(!contain(field), "{field:?}");
        }
        assert!(required_tags(" * ").is_none());
    }
}
