//! Executes SQL statements that both engines share. `$1` is the first parameter.

use super::error::StoreError;
use super::row::{Cell, Cells, Cursor, StoredRow, join};
use super::value::{FromValue, Parameter, Value};
use std::fmt::Display;
use std::str::FromStr;

/// The values of `$1`, `$2` and so on.
pub type Parameters<'a> = &'a [&'a dyn Parameter];

/// The id of a row before the store assigns one.
pub const UNASSIGNED: i64 = 0;

/// A connection or transaction that executes statements.
pub trait Statements {
    /// Executes a statement that writes. An engine may delay such statements until the end of the
    /// transaction.
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError>;

    /// Calls `visit` for each row of a query. Stops at the first error of `visit` and returns that
    /// error.
    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

impl dyn Statements + '_ {
    /// Inserts a row without its first column. This column must be the id, which the store assigns.
    /// `change_number` is an SQL expression for the number of the change.
    pub fn insert<T: StoredRow>(
        &self,
        table: &str,
        row: &T,
        change_number: &str,
    ) -> Result<(), StoreError> {
        let columns = T::COLUMNS.get(1..).unwrap_or_default();
        let names = join(columns, |column| column.name.to_string());
        let mut number = 0;
        let places = join(columns, |_| {
            number += 1;
            format!("${number}")
        });
        let values = row.values();
        let values: Vec<_> = values.iter().skip(1).map(|value| value as &dyn Parameter).collect();
        self.execute(
            &format!(
                "INSERT INTO {table} ({names}, change_number) VALUES ({places}, {change_number})"
            ),
            &values,
        )
    }

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

    /// Runs a query and returns its row, if there is one. The query must return at most one row. Of
    /// several rows, only the last would be returned.
    pub fn query_optional<T>(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        read: fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query_all(query, parameters, read)?.pop())
    }
}

pub struct Row<'a> {
    pub name: &'a dyn Fn(usize) -> Option<&'a str>,
    pub values: Vec<Value>,
}

impl Row<'_> {
    pub fn get<T: FromValue>(&self, name: &str) -> Result<T, StoreError> {
        self.value(self.column(name)?)
    }

    /// Parses the text in the named column. The schema allows only valid text, so a failure means a
    /// damaged store.
    pub fn parse<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, StoreError> {
        Cursor::new(self, self.column(name)?).parse()
    }

    pub fn first<T: FromValue>(&self) -> Result<T, StoreError> {
        self.value(0)
    }

    /// Finds the column with this name. Compares borrowed names, because copying every name would
    /// cost more.
    fn column(&self, name: &str) -> Result<usize, StoreError> {
        let mut columns = 0..self.values.len();
        columns.find(|column| (self.name)(*column) == Some(name)).ok_or_else(|| {
            let source = format!("a query has no column {name}");
            StoreError::Engine { doing: "read", source: source.into() }
        })
    }

    fn value<T: FromValue>(&self, column: usize) -> Result<T, StoreError> {
        let value = self.values.get(column).unwrap_or(&Value::Null);
        T::from_value(value).ok_or_else(|| self.damaged(column, "it has the wrong type"))
    }
}

impl Cells for Row<'_> {
    fn cell<T: Cell>(&self, column: usize) -> Result<T, StoreError> {
        self.value(column)
    }

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.values.get(column) {
            Some(Value::Text(text)) => Ok(Some(text)),
            None | Some(Value::Null) => Ok(None),
            Some(_) => Err(self.damaged(column, "it has the wrong type")),
        }
    }

    fn damaged(&self, column: usize, why: impl Display) -> StoreError {
        let name = (self.name)(column).unwrap_or_default();
        let source = format!("the column {name} is damaged: {why}");
        StoreError::Engine { doing: "read", source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store_orders_api::plans::Plan;

    #[test]
    fn errors_name_the_column_whose_value_has_the_wrong_type() {
        let values = vec![Value::Integer(1 << 32), Value::Text("gold".to_string()), Value::Null];
        let row = Row { name: &|column| Some(["quantity", "plan", "label"][column]), values };
        assert_eq!(row.get::<i64>("quantity").unwrap(), 1 << 32);
        assert_eq!(row.get::<Option<String>>("label").unwrap(), None);
        let damage = |error: StoreError| {
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        };
        for (error, column) in [
            (row.get::<i32>("quantity").unwrap_err(), "quantity"),
            (row.parse::<Plan>("plan").unwrap_err(), "plan"),
            (row.get::<String>("label").unwrap_err(), "label"),
        ] {
            let damage = damage(error);
            assert!(damage.starts_with(&format!("the column {column} is damaged: ")), "{damage}");
        }
        let missing = damage(row.get::<i64>("note").unwrap_err());
        assert_eq!(missing, "a query has no column note");
    }
}
