//! Parsers for the values of flags and arguments of commands. The texts of their errors complete
//! clap's messages about invalid values.

use crate::api_key::without_keys;
use crate::config::duration;
use crate::store::{MAX_OVERLAP, Status};
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::time::Duration;
use store_orders_api::plans::Plan;
use store_orders_api::types::plain_int64;
use strum::VariantNames;

/// The maximum lifetime of a key. A far longer lifetime could end after the last valid calendar
/// date.
const LONGEST_LIFE: Duration = Duration::from_secs(100 * 365 * 86_400);

const DAY: &str = "%Y-%m-%d";

const EXAMPLES: &str = "30m, 24h or 7d";

/// Parses the id of an order or a pet, which must be plain decimal as in the API.
pub fn id(text: &str) -> Result<i64, String> {
    plain_int64(text).ok_or_else(|| "not a 64-bit integer in plain decimal".to_string())
}

/// Parses a day in the form 2026-06-15, and returns its first moment in UTC.
pub fn first_moment(text: &str) -> Result<DateTime<Utc>, String> {
    // chrono also accepts other forms, such as 2026-6-1, so compare the text with the standard
    // form.
    let day = NaiveDate::parse_from_str(text, DAY).ok();
    let day = day.filter(|day| day.format(DAY).to_string() == text);
    let day = day.ok_or_else(|| "not a day like 2026-06-15".to_string())?;
    Ok(day.and_time(NaiveTime::MIN).and_utc())
}

/// Parses the last day of a range. Returns the exclusive end of the range: the first moment of the
/// following day in UTC.
pub fn next_day(text: &str) -> Result<DateTime<Utc>, String> {
    first_moment(text).map(|moment| moment + TimeDelta::days(1))
}

/// Parses the reason of a change. Refuses a text with an API key, because the audit log would keep
/// the key.
pub fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("a reason is a text, such as a ticket's number".to_string());
    }
    if without_keys(text) != text {
        return Err("a reason must not hold an API key".to_string());
    }
    Ok(text.to_string())
}

pub fn plan() -> impl TypedValueParser<Value = Plan> {
    PossibleValuesParser::new(Plan::ALL.map(Plan::as_str)).try_map(|text| text.parse::<Plan>())
}

pub fn status() -> impl TypedValueParser<Value = Status> {
    PossibleValuesParser::new(Status::VARIANTS).try_map(|text| text.parse::<Status>())
}

pub fn life(text: &str) -> Result<Duration, String> {
    let life = duration(text, EXAMPLES)?;
    if life.is_zero() || life > LONGEST_LIFE {
        return Err(
            "a key is valid for more than 0 s and at most 100 years; without --expires it \
                    is valid until it is revoked"
                .to_string(),
        );
    }
    Ok(life)
}

/// Parses how long the old key stays valid after a rotation.
pub fn overlap(text: &str) -> Result<Duration, String> {
    let overlap = duration(text, EXAMPLES)?;
    if overlap > MAX_OVERLAP {
        return Err("a rotated key stays valid for at most 7 days".to_string());
    }
    Ok(overlap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_one_form_and_ends_where_the_next_begins() {
        assert_eq!(first_moment("2026-06-30").unwrap().to_rfc3339(), "2026-06-30T00:00:00+00:00");
        assert_eq!(next_day("2026-06-30").unwrap().to_rfc3339(), "2026-07-01T00:00:00+00:00");
        for last in ["0000-01-01", "9999-12-31"] {
            assert!(next_day(last).is_ok(), "{last}");
        }
        for refused in ["2026-6-1", "2026-02-30", "10000-01-01", "+2026-06-01", "today", ""] {
            assert!(first_moment(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn durations_have_bounds() {
        assert_eq!(overlap("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(overlap("0s"), Ok(Duration::ZERO));
        assert_eq!(overlap("7d"), Ok(MAX_OVERLAP));
        assert!(overlap("7d 1s").is_err());
        assert_eq!(life("90d"), Ok(Duration::from_secs(90 * 86_400)));
        for refused in ["0s", "101y", "soon", "-1h", "", "99999999999999999999y"] {
            assert!(life(refused).is_err(), "{refused}");
        }
    }
}
