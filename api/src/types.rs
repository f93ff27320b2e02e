//! The values of the contract that several parts of the server share: orders, pets, ids and times.

pub use crate::parameters::{parse_date_time, plain_int64};
pub use crate::v1::{Order, Pet};
use chrono::{DateTime, SecondsFormat, Utc};

/// The largest id of an order or a pet; the smallest is its negative. JavaScript cannot represent
/// all larger integers.
pub const MAX_ID: i64 = (1 << 53) - 1;

/// Formats a time as RFC 3339 in UTC with `Z`, and with 0, 3, 6 or 9 fractional digits.
pub fn utc_text(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_same_format_in_json_and_in_texts() {
        for text in ["2026-12-24T09:30:00Z", "2026-12-24T09:30:00.500Z"] {
            let time: DateTime<Utc> = text.parse().unwrap();
            assert_eq!(utc_text(&time), text);
            assert_eq!(serde_json::json!(time), text);
        }
    }

    #[test]
    fn date_times_follow_rfc_3339() {
        for (text, utc) in [
            ("2026-12-24T10:30:00Z", "2026-12-24T10:30:00Z"),
            ("2026-12-24t10:30:00.5z", "2026-12-24T10:30:00.500Z"),
            // RFC 3339, section 5.6, allows a space as the separator.
            ("2026-12-24 10:30:00-01:30", "2026-12-24T12:00:00Z"),
            ("2026-12-24T23:59:59+23:59", "2026-12-24T00:00:59Z"),
            ("2026-12-24T10:30:00.1234567891Z", "2026-12-24T10:30:00.123456789Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("2017-01-01T05:29:60.25+05:30", "2017-01-01T00:00:00.250Z"),
        ] {
            assert_eq!(
                parse_date_time(text).as_ref().map(utc_text).as_deref(),
                Some(utc),
                "{text}"
            );
        }
        for text in [
            "2026-12-24T10:30:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-31T23:59:61Z",
            "9999-12-31T23:59:60Z",
            "0000-01-01T00:00:00+00:01",
            "2026-12-24T10:30:00\u{2212}01:00",
            "2026-12-24T10:30:0\u{665}Z",
            "2026-12-24T24:00:00Z",
            "2026-02-29T10:30:00Z",
            "2026-12-24T10:30Z",
            "2026-12-24T10:30:00",
            "2026-12-24T10:30:00.Z",
            "2026-12-24T10:30:00,5Z",
            "2026-12-24T10:30:00+0100",
            "2026-12-24T10:30:00+24:00",
            "2026-12-24T10:30:00+01:60",
            "2026-12-24T10:30:00 Z",
            " 2026-12-24T10:30:00Z",
            "2026-12-24T10:30:00Z\n",
            "+2026-12-24T10:30:00Z",
            "20261224T103000Z",
            "",
        ] {
            assert_eq!(parse_date_time(text), None, "{text}");
        }
    }

    #[test]
    fn an_order_without_ship_date_has_four_fields() {
        let order = Order { id: 1, pet_id: 2, quantity: 3, ship_date: None, complete: false };
        assert_eq!(
            serde_json::json!(order),
            serde_json::json!({ "id": 1, "petId": 2, "quantity": 3, "complete": false })
        );
    }
}
