//! Columns that hold words or limits, read as their types.

use super::error::{PostgresError, read};
use crate::store::StoreError;
use crate::store::rules::limits_in_force;
use chrono::{DateTime, Utc};
use std::fmt::Display;
use std::str::FromStr;
use store_orders_api::plans::{Plan, PlanLimits};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

/// The value in this column.
pub fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(read)
}

/// The word in this column, parsed. The schema allows no other words, so a failure means
/// a damaged row.
pub fn parsed<T: FromStr<Err: Display>>(row: &Row, column: usize) -> Result<T, StoreError> {
    value::<&str>(row, column)?.parse().map_err(|error| damaged(row, column, &error))
}

/// The date in this column, in Unix milliseconds.
pub fn date_ms(row: &Row, column: usize) -> Result<Option<i64>, StoreError> {
    let text: Option<&str> = value(row, column)?;
    let date = text.map(|_| parsed::<DateTime<Utc>>(row, column)).transpose()?;
    Ok(date.map(|date| date.timestamp_millis()))
}

/// The plan in the column `first`, and the limits in force: the plan's, or those in the
/// two columns that follow.
pub fn plan_and_limits(row: &Row, first: usize) -> Result<(Plan, PlanLimits), StoreError> {
    limits_in_force(parsed(row, first)?, |own| {
        let limit: i64 = value(row, first + 1 + own)?;
        u32::try_from(limit).map_err(|error| damaged(row, first + 1 + own, &error))
    })
}

fn damaged(row: &Row, column: usize, error: &dyn Display) -> StoreError {
    let name = row.columns().get(column).map_or("", |column| column.name());
    let source = Box::new(PostgresError::other(format!("the column {name}: {error}")));
    StoreError::Engine { doing: "read", source }
}
