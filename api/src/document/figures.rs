//! The figures, dates and names in the document's texts, filled in from the
//! constants that the server uses.

use super::error::DocumentError;
use crate::documents::Document;
use crate::order_query::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::types::LARGEST_IN_JAVASCRIPT;
use crate::{headers, key_form, limits};
use chrono::{DateTime, NaiveDate};

/// The text with each name in braces replaced by its value. Other braces, such
/// as those of a path parameter, stay.
pub(super) fn filled_in(text: &str, document: &Document) -> Result<String, DocumentError> {
    let values = [
        ("{base_path}", document.base_path.to_string()),
        ("{production_prefix}", key_form::PRODUCTION_PREFIX.to_string()),
        ("{staging_prefix}", key_form::STAGING_PREFIX.to_string()),
        ("{minute_seconds}", thousands(limits::MINUTE_SECONDS)),
        ("{first_ban_seconds}", thousands(limits::FIRST_BAN_SECONDS)),
        ("{max_ban_seconds}", thousands(limits::MAX_BAN_SECONDS)),
        ("{ban_forgiven_after_hours}", thousands(limits::BAN_FORGIVEN_AFTER_HOURS)),
        ("{keyless_per_minute}", thousands(limits::KEYLESS_PER_MINUTE)),
        ("{default_limit}", thousands(DEFAULT_LIMIT as u32)),
        ("{max_limit}", thousands(MAX_LIMIT as u32)),
        ("{largest_in_javascript}", format!("2^53-1 ({LARGEST_IN_JAVASCRIPT})")),
        ("{deprecated_since}", in_words(deprecated_since()?)),
        ("{sunset}", in_words(sunset()?)),
    ];
    Ok(values.iter().fold(text.to_string(), |text, (name, value)| text.replace(name, value)))
}

/// The day since when getPet is deprecated, as its `Deprecation` header says.
fn deprecated_since() -> Result<NaiveDate, DocumentError> {
    let seconds = headers::PET_DEPRECATION.strip_prefix('@').and_then(|text| text.parse().ok());
    let time = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    time.map(|time| time.date_naive())
        .ok_or_else(|| DocumentError(format!("PET_DEPRECATION {}", headers::PET_DEPRECATION)))
}

/// The day after which getPet may be removed, as its `Sunset` header says.
pub(super) fn sunset() -> Result<NaiveDate, DocumentError> {
    DateTime::parse_from_rfc2822(headers::PET_SUNSET)
        .map(|time| time.date_naive())
        .map_err(|error| DocumentError(format!("PET_SUNSET {}: {error}", headers::PET_SUNSET)))
}

/// As the document and the changelog write a day: `1 December 2026`.
fn in_words(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
}

/// `100000` as `100,000`, as the specification writes it.
pub(super) fn thousands(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;

    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];

    /// Every `1 December 2026` in a text.
    fn dates(text: &str) -> Vec<String> {
        let words: Vec<_> = text
            .split_whitespace()
            .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()))
            .collect();
        words
            .windows(3)
            .filter(|three| MONTHS.contains(&three[1]))
            .map(|three| three.join(" "))
            .collect()
    }

    #[test]
    fn the_changelog_names_the_dates_that_the_server_sends() {
        let expected = [in_words(deprecated_since().unwrap()), in_words(sunset().unwrap())];
        assert_eq!(expected, ["1 December 2026", "1 December 2027"]);
        let changelog = include_str!("../../../CHANGELOG.md");
        assert_eq!(dates(changelog), expected, "Deprecation and Sunset of getPet, in CHANGELOG.md");
        let link = headers::PET_LINK;
        assert!(link.starts_with("</changelog>") && changelog.contains("`getPet`"), "{link}");
    }

    #[test]
    fn no_figure_and_no_date_is_written_into_the_texts() {
        let introduction = include_str!("../introduction.md");
        let numbers: Vec<_> = introduction
            .split(|letter: char| !letter.is_ascii_digit())
            .filter(|number| !number.is_empty())
            .collect();
        assert!(
            numbers.iter().all(|number| {
                let statuses = ["400", "401", "408", "413", "414", "429", "502", "503", "504"];
                statuses.contains(number) || ["1", "2", "50", "64", "7"].contains(number)
            }),
            "{numbers:?}"
        );
        assert_eq!(dates(introduction), [""; 0]);
        let text = filled_in(introduction, &V1).unwrap();
        let left: Vec<_> = text.split('{').skip(1).collect();
        let kept = ["plans}", "codes}", "petId}", "/v1}", "/v2}"];
        assert!(left.iter().all(|rest| kept.iter().any(|kept| rest.starts_with(kept))), "{left:?}");
        for figure in [
            "60 seconds",
            "300 seconds",
            "3,600 seconds",
            "24 hours",
            "1,000 per minute",
            "9007199254740991",
        ] {
            assert!(text.contains(figure), "{figure}");
        }
    }
}
