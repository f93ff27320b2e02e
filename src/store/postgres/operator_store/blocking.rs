//! Executes on PostgreSQL the statements that both engines share. A query runs immediately and
//! blocks the thread. A write is only collected, because the caller sends all writes together at
//! the end of the change.

use crate::store::StoreError;
use crate::store::postgres::error::read_error;
use crate::store::postgres::rows::read_row;
use crate::store::statements::{Parameters, Row, Statements};
use crate::store::value::Value;
use bytes::BytesMut;
use futures::TryStreamExt;
use std::cell::RefCell;
use std::error::Error;
use std::pin::pin;
use tokio::runtime::Runtime;
use tokio_postgres::GenericClient;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

pub type PendingWrite = (String, Vec<Value>);

pub struct Blocking<'a, C> {
    pub runtime: &'a Runtime,
    pub client: &'a C,
    pub writes: RefCell<Vec<PendingWrite>>,
}

impl<'a, C> Blocking<'a, C> {
    pub fn new(runtime: &'a Runtime, client: &'a C) -> Blocking<'a, C> {
        Blocking { runtime, client, writes: RefCell::default() }
    }
}

impl<C: GenericClient> Statements for Blocking<'_, C> {
    fn execute(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError> {
        self.writes.borrow_mut().push((statement.to_string(), values(parameters)));
        Ok(())
    }

    fn query(
        &self,
        query: &str,
        parameters: Parameters<'_>,
        visit: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.runtime.block_on(async {
            let rows =
                self.client.query_raw(query, values(parameters)).await.map_err(read_error)?;
            let mut rows = pin!(rows);
            while let Some(row) = rows.try_next().await.map_err(read_error)? {
                read_row(&row, &mut *visit)?;
            }
            Ok(())
        })
    }
}

fn values(parameters: Parameters<'_>) -> Vec<Value> {
    parameters.iter().map(|parameter| parameter.value()).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) if *kind == Type::BOOL => (*number != 0).to_sql(kind, out),
            Value::Integer(number) if *kind == Type::INT4 => {
                i32::try_from(*number)?.to_sql(kind, out)
            }
            Value::Integer(number) => number.to_sql_checked(kind, out),
            Value::Text(text) => text.to_sql_checked(kind, out),
            Value::Blob(bytes) => bytes.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
