//! Columns that hold words or limits, read as their types.

use crate::store::Status;
use crate::store::rules::limits_in_force;
use chrono::{DateTime, Utc};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};
use std::error::Error;
use std::str::FromStr;
use store_orders_api::plans::{Plan, PlanLimits};

/// The word in this column, parsed. The schema allows no other words, so a failure means
/// a damaged row.
fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: Error + Send + Sync + 'static>,
{
    row.get_ref(column)?.as_str()?.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// The date in this column, in Unix milliseconds.
pub fn date_ms(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    let date = text.map(|_| parsed::<DateTime<Utc>>(row, column)).transpose()?;
    Ok(date.map(|date| date.timestamp_millis()))
}

/// The plan in the column `first`, and the limits in force: the plan's, or those in the
/// two columns that follow.
pub fn plan_and_limits(row: &Row<'_>, first: usize) -> rusqlite::Result<(Plan, PlanLimits)> {
    limits_in_force(parsed(row, first)?, |own| row.get(first + 1 + own))
}

/// The status of the order of this id.
pub fn status_of(connection: &Connection, id: i64) -> rusqlite::Result<Option<Status>> {
    connection
        .prepare_cached("SELECT status FROM orders WHERE id = ?1")?
        .query_row([id], |row| parsed(row, 0))
        .optional()
}
