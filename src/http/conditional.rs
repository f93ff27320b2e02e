//! Conditional requests: matches `If-None-Match` (RFC 9110, 13.1.2).

/// True if this `If-None-Match` is `*` or contains the tag. The comparison is weak: it ignores
/// `W/`. Tags after a malformed tag are ignored.
pub fn field_matches_tag(if_none_match: &str, tag: &str) -> bool {
    if_none_match.trim() == "*" || opaque_tags(if_none_match).any(|sent| sent == opaque(tag))
}

/// Returns the tags of a list without `W/`. A tag may contain commas.
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
        // A comma inside a tag does not end it.
        assert!(
            field_matches_tag("\"a, b\"", "\"a, b\"") && !field_matches_tag("\"a, b\"", "\"b\"")
        );
    }
}
