//! What the statements of the commands need of an engine. They are written for both: `$1` is a
//! parameter, and values are those of SQLite.

use crate::store::rules::limits_in_force;
use crate::store::{Half, StoreError};
use chrono::{DateTime, Utc};
use rusqlite::ToSql;
use rusqlite::types::{FromSql, Value};
use std::error::Error;
use std::str::FromStr;
use store_orders_api::plans::{Plan, PlanLimits};

/// The values of `$1`, `$2` and so on.
pub type Parameters<'a> = &'a [&'a dyn ToSql];

/// An engine, as a command uses it.
pub trait Engine {
    /// The column of the row of an order, account or key with the number of the change that last changed it.
    const CHANGE_NUMBER: &'static str;

    /// A query of the numbers in `$1`, a JSON array.
    const NUMBERS: &'static str;

    /// A query of the columns `id`, `ship_date` and `complete` of the objects in `$1`, a JSON array.
    const UPDATES: &'static str;

    /// Does `work`, which only reads.
    fn read<T>(
        &self,
        work: impl FnOnce(&dyn Statements) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;

    /// Does `work`, a change of this half, in one transaction. It is given the change number for the
    /// rows that it changes. After an error nothing is changed.
    fn change<T>(
        &self,
        half: Half,
        work: impl FnOnce(&dyn Statements, i64) -> Result<T, StoreError>,
    ) -> Result<T, StoreError>;
}

/// A connection or transaction that carries statements out.
pub trait Statements {
    /// Carries a statement out, and returns how many rows it changed.
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<u64, StoreError>;

    /// Visits the rows of a query.
    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

impl dyn Statements + '_ {
    /// Every row of a query.
    pub fn all<T>(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        read: fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut rows = Vec::new();
        self.query(query, parameters, &mut |row| {
            rows.push(read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The only row of a query that has at most one.
    pub fn only<T>(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        read: fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(query, parameters, read)?.pop())
    }
}

/// A row of a query.
pub struct Row<'a> {
    /// The names of its columns.
    pub names: &'a [&'a str],
    /// The values of its columns.
    pub values: Vec<Value>,
}

impl Row<'_> {
    /// The value in this column.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.values.get(column).unwrap_or(&Value::Null);
        T::column_result(value.into()).map_err(|error| self.damaged(column, error))
    }

    /// The word in this column, parsed. The schema allows no other words.
    pub fn parsed<T>(&self, column: usize) -> Result<T, StoreError>
    where
        T: FromStr<Err: Error + Send + Sync + 'static>,
    {
        self.get::<String>(column)?.parse().map_err(|error| self.damaged(column, error))
    }

    /// The date in this column, in Unix milliseconds.
    pub fn date_ms(&self, column: usize) -> Result<Option<i64>, StoreError> {
        let text: Option<String> = self.get(column)?;
        let date = text.map(|_| self.parsed::<DateTime<Utc>>(column)).transpose()?;
        Ok(date.map(|date| date.timestamp_millis()))
    }

    /// The plan in the column `first`, and the limits in force: the plan's, or those in the two
    /// columns that follow.
    pub fn plan_and_limits(&self, first: usize) -> Result<(Plan, PlanLimits), StoreError> {
        limits_in_force(self.parsed(first)?, |own| self.get(first + 1 + own))
    }

    fn damaged(&self, column: usize, error: impl Error + Send + Sync + 'static) -> StoreError {
        let name = self.names.get(column).copied().unwrap_or_default().to_string();
        StoreError::Engine { doing: "read", source: Box::new(DamagedColumn(name, Box::new(error))) }
    }
}

/// A column whose value cannot be what it is.
#[derive(Debug, thiserror::Error)]
#[error("the column {0} is damaged")]
struct DamagedColumn(String, #[source] Box<dyn Error + Send + Sync>);
