//! The statements that both engines share, carried out by PostgreSQL: each is waited for, and
//! values are translated.

use crate::store::StoreError;
use crate::store::commands::{Parameters, Row, Statements};
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{read, written};
use bytes::BytesMut;
use futures::TryStreamExt;
use rusqlite::types::{ToSqlOutput, Value};
use std::error::Error;
use std::pin::pin;
use tokio::runtime::Runtime;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Column, GenericClient};

/// Waits for each statement.
pub struct Blocking<'a, C> {
    /// Drives the connection.
    pub runtime: &'a Runtime,
    /// A connection or transaction.
    pub client: &'a C,
}

impl<C: GenericClient> Statements for Blocking<'_, C> {
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<u64, StoreError> {
        let parameters = encodable(parameters)?;
        let executed = self.client.execute_raw(statement, &parameters);
        self.runtime.block_on(executed).map_err(written)
    }

    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let parameters = encodable(parameters)?;
        self.runtime.block_on(async {
            let statement = self.client.prepare(query).await.map_err(read)?;
            let names: Vec<&str> = statement.columns().iter().map(Column::name).collect();
            let rows = self.client.query_raw(&statement, &parameters).await.map_err(read)?;
            let mut rows = pin!(rows);
            while let Some(row) = rows.try_next().await.map_err(read)? {
                let values = (0..names.len()).map(|column| plain_value(&row, column));
                let values = values.collect::<Result<_, _>>()?;
                visit(&Row { names: &names, values })?;
            }
            Ok(())
        })
    }
}

/// A value of the embedded engine, as PostgreSQL takes it.
#[derive(Debug)]
pub struct Parameter(pub Value);

fn encodable(parameters: Parameters<'_>) -> Result<Vec<Parameter>, StoreError> {
    let owned = |parameter: &&dyn rusqlite::ToSql| {
        Ok(Parameter(match parameter.to_sql()? {
            ToSqlOutput::Owned(value) => value,
            ToSqlOutput::Borrowed(value) => value.try_into()?,
            other => {
                return Err(rusqlite::Error::ToSqlConversionFailure(
                    format!("{other:?} is no value").into(),
                ));
            }
        }))
    };
    Ok(parameters.iter().map(owned).collect::<rusqlite::Result<_>>()?)
}

impl ToSql for Parameter {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) if *kind == Type::BOOL => (*number != 0).to_sql(kind, out),
            Value::Integer(number) if *kind == Type::INT4 => {
                i32::try_from(*number)?.to_sql(kind, out)
            }
            Value::Integer(number) => number.to_sql_checked(kind, out),
            Value::Real(number) => number.to_sql_checked(kind, out),
            Value::Text(text) => text.to_sql_checked(kind, out),
            Value::Blob(bytes) => bytes.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The value of a column, as the shared statements know it.
fn plain_value(row: &tokio_postgres::Row, column: usize) -> Result<Value, StoreError> {
    let kind = row.columns().get(column).map(|column| column.type_());
    Ok(match kind {
        Some(&Type::INT8) => value::<Option<i64>>(row, column)?.into(),
        Some(&Type::INT4) => value::<Option<i32>>(row, column)?.into(),
        Some(&Type::BOOL) => value::<Option<bool>>(row, column)?.into(),
        Some(&Type::BYTEA) => value::<Option<Vec<u8>>>(row, column)?.into(),
        _ => value::<Option<String>>(row, column)?.into(),
    })
}
