//! Serializes a set of order ids as ranges: `1-3,7`.

use crate::IdSet;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt::Write;

/// The greatest id that is accepted, because a bit set with a greater id takes too much memory.
const MAX_ID: usize = 100_000_000;

pub fn serialize<S: Serializer>(ids: &IdSet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_ranges(ids))
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IdSet, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_ranges(&text).map_err(D::Error::custom)
}

fn format_ranges(ids: &IdSet) -> String {
    let (mut text, mut ids) = (String::new(), ids.iter().peekable());
    while let Some(first) = ids.next() {
        let mut last = first;
        while let Some(next) = ids.next_if(|next| *next == last + 1) {
            last = next;
        }
        let separator = if text.is_empty() { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = match first == last {
            true => write!(text, "{separator}{first}"),
            false => write!(text, "{separator}{first}-{last}"),
        };
    }
    text
}

fn parse_ranges(text: &str) -> Result<IdSet, String> {
    let mut ids = IdSet::default();
    for range in text.split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let id = text.parse().ok().filter(|id| *id <= MAX_ID);
            id.ok_or_else(|| format!("{range:?} is no id and no range of ids"))
        };
        ids.extend(number(first)?..=number(last)?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_as_they_are_formatted() {
        for text in ["", "7", "1-3,7", "1-64,66,128-130"] {
            assert_eq!(format_ranges(&parse_ranges(text).unwrap()), text);
        }
        for text in ["x", "1-", "-", "1-x", "200000000"] {
            parse_ranges(text).unwrap_err();
        }
    }
}
