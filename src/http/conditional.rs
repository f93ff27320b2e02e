//! Conditional requests (RFC 9110): the entity tag of a body, and `If-None-Match` (13.1.2).

use http::HeaderValue;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Of the hash, so that no two bodies have one tag by chance.
const TAG_BYTES: usize = 16;

/// The weak entity tag of a body, from its content alone: it stays while other orders change.
pub fn content_tag(body: &[u8]) -> HeaderValue {
    let mut tag = String::from("W/\"");
    for byte in Sha256::digest(body).iter().take(TAG_BYTES) {
        // A `String` takes every text.
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    // Digits, letters and quotes are a value.
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))
}

/// Whether this field names this tag, by weak comparison: without `W/`. Reading ends at the first
/// malformed tag.
pub fn names_tag(if_none_match: &str, tag: &str) -> bool {
    if_none_match.trim() == "*" || opaque_tags(if_none_match).any(|named| named == opaque(tag))
}

/// The tags of a list, each without its `W/`. A tag may contain commas.
fn opaque_tags(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let tag = opaque(rest.trim_start_matches([' ', '\t', ',']));
        let end = tag.strip_prefix('"')?.find('"')? + 2;
        let (tag, after) = tag.split_at_checked(end)?;
        rest = after;
        Some(tag)
    })
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_named_alone_in_a_list_or_by_the_star() {
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
                assert!(names_tag(field, tag), "{field:?}");
            }
        }
    }

    #[test]
    fn what_does_not_name_it_does_not() {
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
            assert!(!names_tag(field, "W/\"a-1\""), "{field:?}");
        }
        // Of a list, a tag may hold a comma itself.
        assert!(names_tag("\"a, b\"", "\"a, b\"") && !names_tag("\"a, b\"", "\"b\""));
    }
}
