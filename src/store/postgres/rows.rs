//! Converts rows of PostgreSQL to the `Row` and the types that both engines share.

use super::error::{PostgresError, read_error};
use crate::store::StoreError;
use crate::store::row::{Cell, Cells};
use crate::store::statements::Row;
use crate::store::value::Value;
use std::fmt::Display;
use tokio_postgres::Column;
use tokio_postgres::types::{FromSql, Type};

pub fn value<'a, T: FromSql<'a>>(
    row: &'a tokio_postgres::Row,
    column: usize,
) -> Result<T, StoreError> {
    row.try_get(column).map_err(read_error)
}

impl Cells for tokio_postgres::Row {
    fn cell<T: Cell>(&self, column: usize) -> Result<T, StoreError> {
        value(self, column)
    }

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        value(self, column)
    }

    fn damaged(&self, column: usize, why: impl Display) -> StoreError {
        let name = name(self, column).unwrap_or_default();
        let why = format!("the column {name} is damaged: {why}");
        StoreError::Engine { doing: "read", source: Box::new(PostgresError::other(why)) }
    }
}

/// Returns the index of the column with this name. The column has the same index in all rows of a
/// query, so one search is enough.
pub fn column_index(columns: &[Column], name: &str) -> Result<usize, StoreError> {
    columns.iter().position(|column| column.name() == name).ok_or_else(|| {
        let why = format!("a query has no column {name}");
        StoreError::Engine { doing: "read", source: Box::new(PostgresError::other(why)) }
    })
}

/// Calls `read` with the row in the form that both engines share.
pub fn read_row<T>(
    row: &tokio_postgres::Row,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let values = (0..row.len()).map(|column| plain_value(row, column)).collect::<Result<_, _>>()?;
    read(&Row { name: &|column| name(row, column), values })
}

fn name(row: &tokio_postgres::Row, column: usize) -> Option<&str> {
    row.columns().get(column).map(Column::name)
}

fn plain_value(row: &tokio_postgres::Row, column: usize) -> Result<Value, StoreError> {
    let kind = row.columns().get(column).map(|column| column.type_());
    let plain = match kind {
        Some(&Type::INT8) => value::<Option<i64>>(row, column)?.map(Value::Integer),
        Some(&Type::INT4) => {
            value::<Option<i32>>(row, column)?.map(|number| Value::Integer(number.into()))
        }
        Some(&Type::BOOL) => {
            value::<Option<bool>>(row, column)?.map(|is_true| Value::Integer(is_true.into()))
        }
        Some(&Type::BYTEA) => value::<Option<Vec<u8>>>(row, column)?.map(Value::Blob),
        _ => value::<Option<String>>(row, column)?.map(Value::Text),
    };
    Ok(plain.unwrap_or(Value::Null))
}
