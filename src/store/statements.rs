//! Executes SQL statements that both engines share. `$1` is the first parameter.

use super::error::StoreError;
use super::value::{FromValue, Parameter, Value};
use chrono::{DateTime, Utc};
use std::fmt::Display;
use std::str::FromStr;
use store_orders_api::plans::{Plan, PlanLimits};

/// The values of `$1`, `$2` and so on.
pub type Parameters<'a> = &'a [&'a dyn Parameter];

/// A connection or transaction that executes statements.
pub trait Statements {
    /// Executes a statement that writes. An engine may delay the statement to the end of the
    /// change.
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError>;

    /// Visits the rows of a query.
    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

impl dyn Statements + '_ {
    /// Returns all rows of a query.
    pub fn query_all<T>(
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

    /// Returns the row of a query that has at most one.
    pub fn query_optional<T>(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        read: fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query_all(query, parameters, read)?.pop())
    }
}

/// A row of a query.
pub struct Row<'a> {
    /// Returns a column's name, for errors.
    pub name: &'a dyn Fn(usize) -> String,
    /// The values of its columns.
    pub values: Vec<Value>,
}

impl Row<'_> {
    /// The value in this column.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.values.get(column).unwrap_or(&Value::Null);
        T::from_value(value).ok_or_else(|| self.damaged_column(column, "its type is another"))
    }

    /// Parses the text in this column. The schema only allows texts that parse.
    pub fn parse<T: FromStr<Err: Display>>(&self, column: usize) -> Result<T, StoreError> {
        self.get::<String>(column)?.parse().map_err(|error| self.damaged_column(column, error))
    }

    /// The date in this column, in Unix milliseconds.
    pub fn date_ms(&self, column: usize) -> Result<Option<i64>, StoreError> {
        let text: Option<String> = self.get(column)?;
        let parsed = text.map(|_| self.parse::<DateTime<Utc>>(column)).transpose()?;
        Ok(parsed.map(|date| date.timestamp_millis()))
    }

    /// The plan in the column `first`, and the limits in force. Enterprise's limits are in the next
    /// two columns; the other plans have fixed limits.
    pub fn plan_and_limits(&self, first: usize) -> Result<(Plan, PlanLimits), StoreError> {
        let plan: Plan = self.parse(first)?;
        let limits = match plan.limits() {
            Some(limits) => limits,
            None => PlanLimits { per_minute: self.get(first + 1)?, per_day: self.get(first + 2)? },
        };
        Ok((plan, limits))
    }

    fn damaged_column(&self, column: usize, why: impl Display) -> StoreError {
        let source = format!("the column {} is damaged: {why}", (self.name)(column));
        StoreError::Engine { doing: "read", source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_column_whose_value_has_the_wrong_type() {
        let values = vec![Value::Integer(1 << 32), Value::Text("gold".to_string()), Value::Null];
        let row = Row { name: &|column| ["quantity", "plan", "label"][column].to_string(), values };
        assert_eq!(row.get::<i64>(0).unwrap(), 1 << 32);
        assert_eq!(row.get::<Option<String>>(2).unwrap(), None);
        let damage = |error: StoreError| {
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        };
        for (error, column) in [
            (row.get::<i32>(0).unwrap_err(), "quantity"),
            (row.get::<u32>(0).unwrap_err(), "quantity"),
            (row.parse::<Plan>(1).unwrap_err(), "plan"),
            (row.get::<String>(2).unwrap_err(), "label"),
        ] {
            let damage = damage(error);
            assert!(damage.starts_with(&format!("the column {column} is damaged: ")), "{damage}");
        }
    }
}
