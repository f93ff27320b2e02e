//! What `check` reports of a store, and the checks that every engine shares.

use super::freshness::LastChanges;
use super::order_rows::OrderCounts;
use chrono::DateTime;
use serde::Serialize;
use std::fmt::Display;

/// Problems shown for each check: enough to see what is wrong, few enough to read.
pub const MAX_PROBLEMS: usize = 20;

/// Tables and their columns that hold dates.
pub const DATES: [(&str, &str); 4] = [
    ("orders", "ship_date"),
    ("orders", "cancelled_at"),
    ("accounts", "created_at"),
    ("accounts", "closed_at"),
];

/// What a store holds, and what is wrong with it. What could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// By status.
    pub orders: Option<OrderCounts>,
    /// The number of the last change of orders.
    #[serde(rename = "ordersVersion")]
    pub orders_change_number: Option<i64>,
    /// The number of the last change of accounts and keys.
    #[serde(rename = "keysVersion")]
    pub keys_change_number: Option<i64>,
    /// Pets.
    pub pets: Option<i64>,
    /// Accounts.
    pub accounts: Option<i64>,
    /// Keys that were ever issued.
    pub keys: Option<i64>,
    /// Empty if the store is sound.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// What was read; what cannot be read is a problem.
    pub(super) fn read<T, E: Display>(&mut self, what: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(format!("{what} cannot be read: {error}"))).ok()
    }

    /// A server reads the rows after the change number that it knows: it would see a row ahead of
    /// its half's last change too late or never. `table` has the last changes.
    pub(super) fn check_change_numbers(
        &mut self,
        table: &str,
        rows: &[LastChanges],
        in_orders: i64,
        in_keys: i64,
        in_accounts: i64,
    ) {
        let [LastChanges { orders, keys, .. }] = *rows else {
            self.problems.push(format!("{table}: {} rows instead of one", rows.len()));
            return;
        };
        (self.orders_change_number, self.keys_change_number) = (Some(orders), Some(keys));
        if keys < 0 {
            self.problems.push(format!("{table}: keys is at {keys}, below 0"));
        }
        for (half, one, at, highest) in [
            ("orders", "an order", orders, in_orders),
            ("keys", "a key", keys, in_keys),
            ("keys", "an account", keys, in_accounts),
        ] {
            if highest > at {
                self.problems.push(format!(
                    "{table}: {half} is at {at}, behind {one} that changed at {highest}"
                ));
            }
        }
    }
}

/// Whether this is a date as the store writes it. The schema checks the outline of a date,
/// this the calendar. Programs before version 1.2 imported second 60 of any minute: a store that
/// has one can still be backed up and restored.
pub fn is_date_in_utc(text: &str) -> bool {
    text.ends_with('Z') && DateTime::parse_from_rfc3339(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_stored_in_utc() {
        for (text, is_date) in [
            ("2026-12-24T09:30:00.5Z", true),
            ("2026-12-24T09:30:00+00:00", false),
            ("2026-02-30T09:30:00Z", false),
            ("2026-12-24T10:30:60Z", true),
        ] {
            assert_eq!(is_date_in_utc(text), is_date, "{text}");
        }
    }
}
