//! Executes on SQLite the statements that both engines share.

use crate::store::StoreError;
use crate::store::row::{Cell, Cells};
use crate::store::statements::{Parameters, Row, Statements};
use crate::store::value::Value;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};
use std::fmt::Display;

impl Statements for Connection {
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError> {
        prepare(self, statement, parameters)?.raw_execute()?;
        Ok(())
    }

    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = prepare(self, query, parameters)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| row.get(column)).collect::<Result<_, _>>()?;
            let name = |column| row.as_ref().column_name(column).ok();
            visit(&Row { name: &name, values })?;
        }
        Ok(())
    }
}

fn prepare<'a>(
    connection: &'a Connection,
    statement: &str,
    parameters: Parameters<'_>,
) -> rusqlite::Result<CachedStatement<'a>> {
    let mut statement = connection.prepare_cached(statement)?;
    for (number, parameter) in (1..).zip(parameters) {
        // SQLite treats `$1` as a named parameter, so look up its index by its name.
        if let Some(index) = statement.parameter_index(&format!("${number}"))? {
            statement.raw_bind_parameter(index, parameter.value())?;
        }
    }
    Ok(statement)
}

impl Cells for rusqlite::Row<'_> {
    fn cell<T: Cell>(&self, column: usize) -> Result<T, StoreError> {
        Ok(self.get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        Ok(self.get_ref(column)?.as_str_or_null().map_err(rusqlite::Error::from)?)
    }

    fn damaged(&self, column: usize, why: impl Display) -> StoreError {
        let name = self.as_ref().column_name(column).unwrap_or_default();
        StoreError::Damaged(format!("the column {name} is damaged: {why}").into())
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl FromSql for Value {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Value> {
        Ok(match value {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Text(_) => Value::Text(value.as_str()?.to_string()),
            ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
            ValueRef::Real(_) => return Err(FromSqlError::InvalidType),
        })
    }
}
