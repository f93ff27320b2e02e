//! Orders for the operator's commands: shipped, shown, listed.

use super::PostgresCommands;
use crate::store::postgres::columns::{parsed, value};
use crate::store::postgres::error::{read, written};
use crate::store::rules::can_ship;
use crate::store::{Status, StoreError, StoredOrder};
use std::collections::HashMap;
use std::ops::ControlFlow;
use tokio_postgres::Row;

const COLUMNS: &str =
    "id, pet_id, quantity, ship_date, complete, status, cancelled_at, cancelled_by";

/// Orders read at a time: their read takes some milliseconds, against one for the way to
/// the engine and back.
const PAGE_ORDERS: usize = 5_000;

impl PostgresCommands {
    /// Marks all of these orders as shipped, or none: from then on they cannot be
    /// cancelled. One that has shipped already is left as it is.
    pub fn ship_orders(&self, ids: &[i64]) -> Result<(), StoreError> {
        self.write_orders(async |transaction| {
            let query = "SELECT id, status FROM orders WHERE id = ANY($1)";
            let rows = transaction.query(query, &[&ids]).await.map_err(read)?;
            let statuses = rows
                .iter()
                .map(|row| Ok((value(row, 0)?, parsed(row, 1)?)))
                .collect::<Result<HashMap<i64, Status>, StoreError>>()?;
            let mut to_ship = Vec::new();
            for id in ids {
                if can_ship(*id, statuses.get(id).copied())? {
                    to_ship.push(*id);
                }
            }
            let update = "UPDATE orders SET status = 'shipped',
                              version = (SELECT coalesce(max(version), 0) + 1 FROM orders)
                          WHERE id = ANY($1)";
            transaction.execute(update, &[&to_ship]).await.map_err(written)?;
            Ok(())
        })
    }

    /// The order of this id, in any status.
    pub fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM orders WHERE id = $1");
        let row = self.ask(async |client| client.query_opt(&query, &[&id]).await.map_err(read))?;
        row.as_ref().map(stored_order).transpose()
    }

    /// Visits every order in ascending order of id, or those of one status, until
    /// `visit` breaks. They are read in pages, each as of its own moment, so that a slow
    /// visitor keeps no old rows from being removed.
    pub fn for_each_order(
        &self,
        status: Option<Status>,
        visit: &mut dyn FnMut(StoredOrder) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut from = Some(i64::MIN);
        while let Some(first) = from {
            let page = self.page(status, first)?;
            from = page.last().and_then(|order| order.id.checked_add(1));
            for order in page {
                if visit(order).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The next orders with this id or a higher one; none after the last.
    fn page(&self, status: Option<Status>, first: i64) -> Result<Vec<StoredOrder>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} FROM orders
             WHERE id >= $1 AND ($2::text IS NULL OR status = $2)
             ORDER BY id LIMIT {PAGE_ORDERS}"
        );
        let status = status.map(Status::as_str);
        let rows =
            self.ask(async |client| client.query(&query, &[&first, &status]).await.map_err(read))?;
        rows.iter().map(stored_order).collect()
    }
}

fn stored_order(row: &Row) -> Result<StoredOrder, StoreError> {
    Ok(StoredOrder {
        id: value(row, 0)?,
        pet_id: value(row, 1)?,
        quantity: value(row, 2)?,
        ship_date: value(row, 3)?,
        complete: value(row, 4)?,
        status: parsed(row, 5)?,
        cancelled_at: value(row, 6)?,
        cancelled_by: value(row, 7)?,
    })
}
