//! Orders for the operator's commands: shipped, shown, listed.

use super::SqliteStore;
use super::columns::parsed;
use super::connection::in_transaction;
use super::versions::{read_versions, set_orders_version};
use crate::store::rules::can_ship;
use crate::store::{Status, StoreError, StoredOrder};
use rusqlite::{Connection, OptionalExtension, Row};
use std::ops::ControlFlow;

const COLUMNS: &str =
    "id, pet_id, quantity, ship_date, complete, status, cancelled_at, cancelled_by";

impl SqliteStore {
    /// Marks all of these orders as shipped, or none: from then on they cannot be
    /// cancelled. One that has shipped already is left as it is.
    pub fn ship_orders(&self, ids: &[i64]) -> Result<(), StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let version = read_versions(transaction)?.orders + 1;
            for id in ids {
                if can_ship(*id, status_of(transaction, *id)?)? {
                    transaction.execute(
                        "UPDATE orders SET status = 'shipped', version = ?2 WHERE id = ?1",
                        [*id, version],
                    )?;
                }
            }
            Ok(set_orders_version(transaction, version)?)
        })
    }

    /// The order of this id, in any status.
    pub fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        let connection = self.reader.lock();
        let mut statement =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM orders WHERE id = ?1"))?;
        Ok(statement.query_row([id], stored_order).optional()?)
    }

    /// Visits every order in ascending order of id, or those of one status, until
    /// `visit` breaks.
    pub fn for_each_order(
        &self,
        status: Option<Status>,
        visit: &mut dyn FnMut(StoredOrder) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let connection = self.scanner.lock();
        let mut statement = connection.prepare(&format!(
            "SELECT {COLUMNS} FROM orders WHERE ?1 IS NULL OR status = ?1 ORDER BY id"
        ))?;
        for order in statement.query_map([status.map(Status::as_str)], stored_order)? {
            if visit(order?).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The status of the order of this id.
pub fn status_of(connection: &Connection, id: i64) -> rusqlite::Result<Option<Status>> {
    connection
        .prepare_cached("SELECT status FROM orders WHERE id = ?1")?
        .query_row([id], |row| parsed(row, 0))
        .optional()
}

fn stored_order(row: &Row<'_>) -> rusqlite::Result<StoredOrder> {
    Ok(StoredOrder {
        id: row.get(0)?,
        pet_id: row.get(1)?,
        quantity: row.get(2)?,
        ship_date: row.get(3)?,
        complete: row.get(4)?,
        status: parsed(row, 5)?,
        cancelled_at: row.get(6)?,
        cancelled_by: row.get(7)?,
    })
}
