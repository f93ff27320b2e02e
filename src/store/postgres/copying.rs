//! Rows written with COPY, the fastest way into a table.

use super::error::written;
use crate::store::StoreError;
use std::pin::Pin;
use tokio_postgres::Transaction;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

/// Rows on their way into a table. Dropped before it is finished, none is written.
pub struct Copying {
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl Copying {
    /// Begins to copy into this table; `columns` are names and types.
    pub async fn begin(
        transaction: &Transaction<'_>,
        table: &str,
        columns: &[(&str, Type)],
    ) -> Result<Copying, StoreError> {
        let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
        let types: Vec<_> = columns.iter().map(|(_, kind)| kind.clone()).collect();
        let names = names.join(", ");
        let statement = format!("COPY {table} ({names}) FROM STDIN (FORMAT binary)");
        let sink = transaction.copy_in(&statement).await.map_err(written)?;
        Ok(Copying { writer: Box::pin(BinaryCopyInWriter::new(sink, &types)) })
    }

    /// Adds a row, with its values in the order of the columns.
    pub async fn write(&mut self, row: &[&(dyn ToSql + Sync)]) -> Result<(), StoreError> {
        self.writer.as_mut().write(row).await.map_err(written)
    }

    /// Ends the copy, and returns the number of rows that were written.
    pub async fn finish(mut self) -> Result<u64, StoreError> {
        self.writer.as_mut().finish().await.map_err(written)
    }
}
