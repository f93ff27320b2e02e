//! The report of the command `check`, and the checks that both engines share.

use super::orders::PAGE_ORDERS;
use crate::store::StoreError;
use crate::store::freshness::LastChanges;
use crate::store::order_rows::{COUNT_ORDERS, OrderCounts};
use crate::store::statements::{Row, Statements};
use crate::store::value::StoredDate;
use serde::Serialize;
use std::fmt::Display;
use store_orders_api::types::MAX_ID;

/// The maximum number of problems that one part of a check reports, and of rows that a warning
/// lists. The limit keeps the report of a badly damaged store readable.
pub const MAX_PROBLEMS: usize = 20;

const DATES: [(&str, &str); 4] = [
    ("orders", "ship_date"),
    ("orders", "cancelled_at"),
    ("accounts", "created_at"),
    ("accounts", "closed_at"),
];

/// The id columns that clients read. JavaScript reads integers exactly only up to 2^53-1, so the
/// check warns of larger ids. Earlier releases imported any 64-bit integer.
const PUBLIC_IDS: [(&str, &str); 3] = [("orders", "id"), ("orders", "pet_id"), ("pets", "id")];

/// The row counts of a store, and its problems. A count that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    pub orders: Option<OrderCounts>,
    pub orders_change_number: Option<i64>,
    pub keys_change_number: Option<i64>,
    pub pets: Option<i64>,
    pub accounts: Option<i64>,
    /// The number of keys that were ever issued, including revoked and expired ones.
    pub keys: Option<i64>,
    pub problems: Vec<String>,
    /// Advice on what the operator should change. A sound store may also have warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl CheckReport {
    /// Returns the value in `result`. An error becomes a problem of the report instead, so that the
    /// other checks can continue.
    pub fn read<T, E: Display>(&mut self, what: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.problems.push(format!("{what} cannot be read: {error}"))).ok()
    }

    pub fn require_one_row(&mut self, table: &str, rows: i64) {
        if rows != 1 {
            self.problems.push(format!("{table}: {rows} rows instead of one"));
        }
    }

    /// Reports a problem if an order, key or account has a higher change number than `table`
    /// records as the last change. Servers would see such a row late or never.
    ///
    /// `rows` are the rows of `table`, of which there must be exactly one. The last three
    /// parameters are the highest change numbers among orders, keys and accounts.
    pub fn check_change_numbers(
        &mut self,
        table: &str,
        rows: &[LastChanges],
        in_orders: i64,
        in_keys: i64,
        in_accounts: i64,
    ) {
        self.require_one_row(table, rows.len() as i64);
        let [LastChanges { orders, keys }] = *rows else { return };
        let (orders, keys) = (orders.number, keys.number);
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

/// Counts the rows. Checks that dates exist in the calendar, and that JavaScript can read ids
/// exactly. Reports unreadable data as a problem.
///
/// Reads dates and ids in several queries. During one long read, the embedded store's write-ahead
/// log would only grow, because it cannot be emptied.
pub fn check_rows(report: &mut CheckReport, statements: &dyn Statements) {
    for (table, column) in DATES {
        let bad = bad_dates(statements, table, column);
        let bad = report.read(column, bad.map_err(cause)).unwrap_or_default();
        report.problems.extend(bad);
    }
    for (table, column) in PUBLIC_IDS {
        let large = large_ids(statements, table, column);
        let large = report.read(column, large.map_err(cause)).flatten();
        report.warnings.extend(large);
    }
    let orders = statements.query_optional(COUNT_ORDERS, &[], order_counts);
    report.orders = report.read("orders", orders.map_err(cause)).flatten();
    let mut count = |table: &str| {
        let query = format!("SELECT count(*) FROM {table}");
        let rows = statements.query_optional(&query, &[], |row| row.first());
        report.read(table, rows.map_err(cause)).flatten()
    };
    let (pets, accounts, keys) = (count("pets"), count("accounts"), count("keys"));
    (report.pets, report.accounts, report.keys) = (pets, accounts, keys);
}

/// Returns the message of an error. For an engine's error, omits the words of [`StoreError`],
/// because [`CheckReport::read`] adds its own words.
fn cause(error: StoreError) -> String {
    match error {
        StoreError::Damaged(source) | StoreError::Engine { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

fn order_counts(row: &Row<'_>) -> Result<OrderCounts, StoreError> {
    Ok(OrderCounts {
        pending: row.get("pending")?,
        shipped: row.get("shipped")?,
        cancelled: row.get("cancelled")?,
    })
}

fn bad_dates(
    statements: &dyn Statements,
    table: &str,
    column: &str,
) -> Result<Vec<String>, StoreError> {
    let mut bad = Vec::new();
    visit_in_pages(statements, table, column, &mut |id, row| {
        let text: Option<String> = row.get(column)?;
        if let Some(text) = text.filter(|text| text.parse::<StoredDate>().is_err())
            && bad.len() < MAX_PROBLEMS
        {
            bad.push(format!("{table}: {column} of {id} is not a date in UTC: {text:?}"));
        }
        Ok(())
    })?;
    Ok(bad)
}

/// If `table` has rows whose `column` is outside the range of imported ids, returns a warning that
/// names the first of these rows.
fn large_ids(
    statements: &dyn Statements,
    table: &str,
    column: &str,
) -> Result<Option<String>, StoreError> {
    let (mut rows, mut count) = (Vec::new(), 0_usize);
    visit_in_pages(statements, table, column, &mut |id, row| {
        let value: i64 = row.get(column)?;
        if value.unsigned_abs() > MAX_ID.unsigned_abs() {
            count += 1;
            if rows.len() < MAX_PROBLEMS {
                rows.push(id.to_string());
            }
        }
        Ok(())
    })?;
    let more = match count - rows.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let cancel = match table {
        "orders" => {
            ", and cancel those with these ids: `store-orders orders cancel ID --reason TEXT`"
        }
        _ => "",
    };
    let rows = rows.join(", ");
    Ok((count > 0).then(|| {
        format!(
            "{table}: {column} is not from -(2^53-1) to 2^53-1 ({MAX_ID}) in {rows}{more}. Clients in \
             JavaScript read another number. Import the {table} again with ids in this range{cancel}"
        )
    }))
}

fn visit_in_pages(
    statements: &dyn Statements,
    table: &str,
    column: &str,
    visit: &mut dyn FnMut(i64, &Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    // Select all rows in pages, so that each query is short. In a sound table, a query for only the
    // wrong values would never reach its LIMIT, and would read the whole table.
    let query =
        format!("SELECT id, {column} FROM {table} WHERE id >= $1 ORDER BY id LIMIT {PAGE_ORDERS}");
    let mut from = Some(i64::MIN);
    while let Some(first) = from {
        let mut last = None;
        statements.query(&query, &[&first], &mut |row| {
            let id: i64 = row.get("id")?;
            last = Some(id);
            visit(id, row)
        })?;
        // The ids of a damaged table may be in any order. Without the filter, the loop might never
        // end.
        from = last.and_then(|id: i64| id.checked_add(1)).filter(|next| *next > first);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::statements::Parameters;
    use rusqlite::Connection;

    /// A connection that panics if a query returns more than [`PAGE_ORDERS`] rows.
    struct Pages(Connection);

    impl Statements for Pages {
        fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError> {
            Statements::execute(&self.0, statement, parameters)
        }

        fn query(
            &self,
            query: &str,
            parameters: Parameters<'_>,
            visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
        ) -> Result<(), StoreError> {
            let mut rows = 0;
            Statements::query(&self.0, query, parameters, &mut |row| {
                rows += 1;
                assert!(rows <= PAGE_ORDERS, "{query}");
                visit(row)
            })
        }
    }

    #[test]
    fn dates_are_read_in_pages() {
        let connection = Connection::open_in_memory().unwrap();
        let dates = "CREATE TABLE dates (id INTEGER PRIMARY KEY, date TEXT);
                     INSERT INTO dates VALUES (-9223372036854775808, 'first'), (1, 'second'),
                                              (9223372036854775807, 'last');
                     WITH ids (id) AS (VALUES (2) UNION ALL SELECT id + 1 FROM ids WHERE id < 20000)
                     INSERT INTO dates SELECT id, iif(id % 9 = 0, '2026-12-24T09:30:00Z', NULL)
                     FROM ids";
        connection.execute_batch(dates).unwrap();
        let bad = bad_dates(&Pages(connection), "dates", "date").unwrap();
        assert_eq!(bad.len(), 3, "{bad:?}");
    }
}
