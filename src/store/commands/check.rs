//! The report of `check` about a store, and the checks that both engines share.

use crate::store::StoreError;
use crate::store::freshness::LastChanges;
use crate::store::order_rows::{COUNT_ORDERS, OrderCounts};
use crate::store::statements::{Row, Statements};
use chrono::DateTime;
use serde::Serialize;
use std::fmt::Display;

/// The maximum number of problems that each check reports.
pub const MAX_PROBLEMS: usize = 20;

/// Tables and columns of dates.
pub const DATES: [(&str, &str); 4] = [
    ("orders", "ship_date"),
    ("orders", "cancelled_at"),
    ("accounts", "created_at"),
    ("accounts", "closed_at"),
];

/// The row counts of a store, and its problems. A count that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// The number of orders in each status.
    pub orders: Option<OrderCounts>,
    /// The number of the last change of orders.
    #[serde(rename = "ordersVersion")]
    pub orders_change_number: Option<i64>,
    /// The number of the last change of accounts and keys.
    #[serde(rename = "keysVersion")]
    pub keys_change_number: Option<i64>,
    /// The number of pets.
    pub pets: Option<i64>,
    /// The number of accounts.
    pub accounts: Option<i64>,
    /// The number of keys that were ever issued.
    pub keys: Option<i64>,
    /// Empty if the store is sound.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// Unwraps the result of reading `what`. Reports an error as a problem.
    pub fn read<T, E: Display>(&mut self, what: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(format!("{what} cannot be read: {error}"))).ok()
    }

    /// Checks that a table has exactly one row. Without its row, `identity` has no store id, and
    /// `versions` is no lock (PostgreSQL) or has no change numbers (SQLite).
    pub fn require_one_row(&mut self, table: &str, rows: i64) {
        if rows != 1 {
            self.problems.push(format!("{table}: {rows} rows instead of one"));
        }
    }

    /// Checks that no row has a higher change number than the last change in `table`. A server
    /// reads the rows after the last change that it has seen, so it would see such a row late or
    /// never.
    pub fn check_change_numbers(
        &mut self,
        table: &str,
        rows: &[LastChanges],
        in_orders: i64,
        in_keys: i64,
        in_accounts: i64,
    ) {
        self.require_one_row(table, rows.len() as i64);
        let [LastChanges { orders, keys, .. }] = *rows else { return };
        (self.orders_change_number, self.keys_change_number) = (Some(orders), Some(keys));
        if keys < 0 {
            self.problems.push(format!("{table}: the change number of keys is {keys}, below 0"));
        }
        for (scope, one, last, highest) in [
            ("orders", "an order", orders, in_orders),
            ("keys", "a key", keys, in_keys),
            ("keys", "an account", keys, in_accounts),
        ] {
            if highest > last {
                self.problems.push(format!(
                    "{table}: the change number of {scope} is {last}, behind {highest} of {one}"
                ));
            }
        }
    }
}

/// Checks the dates in these columns and counts the rows. Reports unreadable tables as problems.
pub fn check_rows(
    report: &mut CheckReport,
    statements: &dyn Statements,
    dates: impl IntoIterator<Item = (&'static str, &'static str)>,
) {
    for (table, column) in dates {
        let bad = bad_dates(statements, table, column);
        let bad = report.read(column, bad.map_err(cause)).unwrap_or_default();
        report.problems.extend(bad);
    }
    let orders = statements.query_optional(COUNT_ORDERS, &[], order_counts);
    report.orders = report.read("orders", orders.map_err(cause)).flatten();
    let mut count = |table: &str| {
        let query = format!("SELECT count(*) FROM {table}");
        let rows = statements.query_optional(&query, &[], |row| row.get(0));
        report.read(table, rows.map_err(cause)).flatten()
    };
    let (pets, accounts, keys) = (count("pets"), count("accounts"), count("keys"));
    (report.pets, report.accounts, report.keys) = (pets, accounts, keys);
}

/// The engine's message, without the failed action.
fn cause(error: StoreError) -> String {
    match error {
        StoreError::Damaged(source) | StoreError::Engine { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

fn order_counts(row: &Row<'_>) -> Result<OrderCounts, StoreError> {
    Ok(OrderCounts { pending: row.get(0)?, shipped: row.get(1)?, cancelled: row.get(2)? })
}

fn bad_dates(
    statements: &dyn Statements,
    table: &str,
    column: &str,
) -> Result<Vec<String>, StoreError> {
    let query = format!("SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY id");
    let mut bad = Vec::new();
    statements.query(&query, &[], &mut |row| {
        let text: String = row.get(1)?;
        if !is_date_in_utc(&text) && bad.len() < MAX_PROBLEMS {
            let id: i64 = row.get(0)?;
            bad.push(format!("{table}: {column} of {id} is not a date in UTC: {text:?}"));
        }
        Ok(())
    })?;
    Ok(bad)
}

/// True if this is a date in the store's format. The schema checks the format, and this function
/// checks the calendar. Second 60 is valid in any minute, because versions before 1.2 imported such
/// dates, and their stores can still be backed up and restored.
fn is_date_in_utc(text: &str) -> bool {
    text.ends_with('Z') && DateTime::parse_from_rfc3339(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calendar_dates_in_utc_are_valid() {
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
