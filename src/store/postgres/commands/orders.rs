//! Orders for the operator's commands: shipped, shown, listed.

use super::PostgresCommands;
use crate::store::postgres::columns::{parsed, value};
use crate::store::postgres::error::{read, written};
use crate::store::postgres::journal::Half;
use crate::store::rules::can_ship;
use crate::store::{Status, StoreError, StoredOrder};
use std::collections::{BTreeSet, HashMap};
use tokio_postgres::Row;

const COLUMNS: &str =
    "id, pet_id, quantity, ship_date, complete, status, cancelled_at, cancelled_by";

/// Orders read at a time: their read takes some milliseconds, against one for the way to
/// the engine and back.
const PAGE_ORDERS: usize = 5_000;

impl PostgresCommands {
    /// Marks all of these orders as shipped, or none: from then on they cannot be
    /// cancelled. One that has shipped already is left as it is. Returns those that were
    /// marked.
    pub fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
        self.change(Half::Orders, async |transaction, version| {
            let query = "SELECT id, status FROM orders WHERE id = ANY($1)";
            let rows = transaction.query(query, &[&ids]).await.map_err(read)?;
            let statuses = rows
                .iter()
                .map(|row| Ok((value(row, 0)?, parsed(row, 1)?)))
                .collect::<Result<HashMap<i64, Status>, StoreError>>()?;
            let mut to_ship = BTreeSet::new();
            for id in ids {
                if can_ship(*id, statuses.get(id).copied())? {
                    to_ship.insert(*id);
                }
            }
            let update = "UPDATE orders SET status = 'shipped', changed_in = $2
                          WHERE id = ANY($1)";
            let ids: Vec<i64> = to_ship.iter().copied().collect();
            transaction.execute(update, &[&ids, &version]).await.map_err(written)?;
            Ok(to_ship)
        })
    }

    /// The order of this id, in any status.
    pub fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM orders WHERE id = $1");
        let row = self.ask(async |client| client.query_opt(&query, &[&id]).await.map_err(read))?;
        row.as_ref().map(stored_order).transpose()
    }

    /// The next orders with this id or a higher one; none after the last.
    pub fn orders_from(
        &self,
        first: i64,
        status: Option<Status>,
    ) -> Result<Vec<StoredOrder>, StoreError> {
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
