//! Reads one cancelled order or one pet by id. Several reads can be in flight on the connection.

use super::state::SessionState;
use crate::store::order_rows::SELECT_PET;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::read_error;
use crate::store::postgres::rows::read_row;
use crate::store::postgres::timeouts::READ_LIMIT;
use crate::store::row::StoredRow;
use crate::store::statements::Row;
use crate::store::{Order, StoreError};
use std::sync::Arc;
use store_orders_api::types::Pet;
use tokio_postgres::types::Type;

pub struct RowReader {
    connection: Arc<Connection>,
    state: Arc<SessionState>,
}

impl RowReader {
    pub fn new(connection: Arc<Connection>, state: Arc<SessionState>) -> RowReader {
        RowReader { connection, state }
    }

    /// Reads a cancelled order, and the number of the change that cancelled the order. Does not
    /// wait until the change is confirmed.
    pub async fn cancelled_order(&self, id: i64) -> Result<Option<(Order, i64)>, StoreError> {
        let query = Order::select_cancelled();
        self.read(&query, id, |row| Ok((Order::read(row, 0)?, row.get("change_number")?))).await
    }

    pub async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        let name = self.read(SELECT_PET, id, |row| row.first()).await?;
        Ok(name.map(|name| Pet { id, name }))
    }

    async fn read<T>(
        &self,
        query: &str,
        id: i64,
        convert: fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let rows = async {
            let client = &self.connection.client;
            client.query_typed(query, &[(&id, Type::INT8)]).await.map_err(read_error)
        };
        let rows = self.state.answer(READ_LIMIT, rows).await?;
        rows.first().map(|row| read_row(row, convert)).transpose()
    }
}
