//! The checks that both engines share, and the counts of what a store holds.

use crate::store::check_report::{MAX_PROBLEMS, is_date_in_utc};
use crate::store::order_rows::{COUNT_ORDERS, OrderCounts};
use crate::store::statements::{Row, Statements};
use crate::store::{CheckReport, StoreError};

/// Checks these columns of dates, and counts the rows. What cannot be read is a problem.
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
    let orders = statements.only(COUNT_ORDERS, &[], order_counts);
    report.orders = report.read("orders", orders.map_err(cause)).flatten();
    let mut count = |table: &str| {
        let query = format!("SELECT count(*) FROM {table}");
        let rows = statements.only(&query, &[], |row| row.get(0));
        report.read(table, rows.map_err(cause)).flatten()
    };
    let (pets, accounts, keys) = (count("pets"), count("accounts"), count("keys"));
    (report.pets, report.accounts, report.keys) = (pets, accounts, keys);
}

/// What the engine says, without what it was asked.
fn cause(error: StoreError) -> String {
    match error {
        StoreError::Engine { source, .. } => source.to_string(),
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
