//! Values as the contract writes them.

pub use crate::parameters::plain_int64;
pub use crate::v1::{Order, Pet};
use chrono::{DateTime, SecondsFormat, Utc};

/// The largest integer up to which each number in JavaScript is exact, 2^53-1.
pub const LARGEST_IN_JAVASCRIPT: i64 = (1 << 53) - 1;

/// A time as the contract writes it: RFC 3339 in UTC with `Z`, with 0, 3, 6 or 9
/// digits of a second.
pub fn utc_text(time: &DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_alike_in_json_and_in_texts() {
        for text in ["2026-12-24T09:30:00Z", "2026-12-24T09:30:00.500Z"] {
            let time: DateTime<Utc> = text.parse().unwrap();
            assert_eq!(utc_text(&time), text);
            assert_eq!(serde_json::json!(time), text);
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
