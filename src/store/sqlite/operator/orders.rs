//! Orders as the operator handles them: imported, shipped, shown.

use super::super::serving::{named, set_orders_version};
use super::super::{SqliteStore, lock, read_versions, reading, writing};
use super::{in_transaction, in_transaction_of};
use crate::store::{ListedOrder, Status, StoreError};
use chrono::{DateTime, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use store_orders_api::types::utc_text;

/// An order to be imported; its fields have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered, at least 1.
    pub quantity: i32,
    /// Expected or actual ship date.
    pub ship_date: Option<DateTime<Utc>>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Whether it has shipped, and so cannot be cancelled.
    pub shipped: bool,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportOutcome {
    /// Records stored.
    pub imported: usize,
    /// Records passed over because their id was there already.
    pub skipped: usize,
}

/// An order with everything that the store knows of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredOrder {
    /// Unique order identifier.
    pub id: i64,
    /// Identifier of the animal in the order.
    pub pet_id: i64,
    /// Number of units ordered.
    pub quantity: i32,
    /// Ship date, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_date: Option<String>,
    /// Whether the order has been fulfilled.
    pub complete: bool,
    /// Where it stands.
    pub status: Status,
    /// When it was cancelled, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_at: Option<String>,
    /// Which key cancelled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<String>,
}

impl StoredOrder {
    /// The order as a list shows it.
    pub fn listed(&self) -> ListedOrder<'_> {
        ListedOrder {
            id: self.id,
            pet_id: self.pet_id,
            quantity: self.quantity,
            ship_date: self.ship_date.as_deref(),
            complete: self.complete,
        }
    }
}

const COLUMNS: &str =
    "id, pet_id, quantity, ship_date, complete, status, cancelled_at, cancelled_by";

impl SqliteStore {
    /// Which of these orders are in the store already, cancelled ones included.
    pub fn existing_orders(
        &self,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<i64>, StoreError> {
        let mut connection = lock(&self.scanner);
        let transaction = connection.transaction().map_err(reading)?;
        let mut statement =
            transaction.prepare_cached("SELECT 1 FROM orders WHERE id = ?1").map_err(reading)?;
        let mut existing = Vec::new();
        for id in ids {
            if statement.exists([id]).map_err(reading)? {
                existing.push(id);
            }
        }
        Ok(existing)
    }

    /// Stores all of these orders or none. An id that is there already is
    /// refused, or passed over with `skip_existing`. In ascending order of id
    /// the rows are appended, which is fastest; `progress` is told after each
    /// that is ready.
    ///
    /// The rows are made ready in a table of this connection's own, and the store
    /// is locked only while one statement copies them: a million take 1.2 s that
    /// way, and 2.8 s with a statement each.
    pub fn import_orders(
        &self,
        orders: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        let mut connection = lock(&self.writer);
        make_ready(&mut connection, orders, progress).map_err(writing)?;
        let outcome = in_transaction_of(&mut connection, |transaction| {
            copy_ready(transaction, orders.len(), skip_existing)
        });
        // What is stored is stored: the next import would drop it too.
        let _ = connection.execute_batch("DROP TABLE temp.ready");
        outcome
    }

    /// Marks all of these orders as shipped, or none: from then on they cannot
    /// be cancelled. One that has shipped already stays as it is.
    pub fn ship_orders(&self, ids: &[i64]) -> Result<(), StoreError> {
        in_transaction(self, |transaction| {
            let version = read_versions(transaction)?.orders + 1;
            for id in ids {
                ship(transaction, *id, version)?;
            }
            set_orders_version(transaction, version).map_err(writing)
        })
    }

    /// The order of this id, whatever its status.
    pub fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        lock(&self.reader)
            .prepare_cached(&format!("SELECT {COLUMNS} FROM orders WHERE id = ?1"))
            .and_then(|mut statement| statement.query_row([id], stored_order).optional())
            .map_err(reading)
    }

    /// Visits every order in ascending order of id, those of one status if one
    /// is named, until `visit` says that it has seen enough.
    pub fn visit_stored_orders(
        &self,
        status: Option<Status>,
        visit: &mut dyn FnMut(StoredOrder) -> std::ops::ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let connection = lock(&self.scanner);
        let mut statement = connection
            .prepare(&format!(
                "SELECT {COLUMNS} FROM orders WHERE ?1 IS NULL OR status = ?1 ORDER BY id"
            ))
            .map_err(reading)?;
        let rows =
            statement.query_map([status.map(Status::name)], stored_order).map_err(reading)?;
        for order in rows {
            if visit(order.map_err(reading)?).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Puts the orders into a table of this connection's own, which is in memory:
/// whatever the system has for temporary files is not needed.
fn make_ready(
    connection: &mut Connection,
    orders: &[NewOrder],
    progress: &dyn Fn(),
) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY;
         DROP TABLE IF EXISTS temp.ready;
         CREATE TEMP TABLE ready (
             position INTEGER PRIMARY KEY, id, pet_id, quantity, ship_date, complete, status
         )",
    )?;
    let transaction = connection.transaction()?;
    let mut statement = transaction.prepare(
        "INSERT INTO temp.ready (id, pet_id, quantity, ship_date, complete, status)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for order in orders {
        let status = if order.shipped { Status::Shipped } else { Status::Pending };
        statement.execute(params![
            order.id,
            order.pet_id,
            order.quantity,
            order.ship_date.as_ref().map(utc_text),
            order.complete,
            status.name(),
        ])?;
        progress();
    }
    drop(statement);
    transaction.commit()
}

/// Copies the orders that are ready into the store. What was there already has a
/// lower version than what is copied.
fn copy_ready(
    connection: &Connection,
    ready: usize,
    skip_existing: bool,
) -> Result<ImportOutcome, StoreError> {
    let version = read_versions(connection)?.orders + 1;
    // Without WHERE, the grammar takes ON CONFLICT for the ON of a join.
    let imported = connection
        .execute(
            "INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, version)
             SELECT id, pet_id, quantity, ship_date, complete, status, ?1
             FROM temp.ready WHERE true ORDER BY position
             ON CONFLICT (id) DO NOTHING",
            [version],
        )
        .map_err(writing)?;
    if imported < ready && !skip_existing {
        return Err(taken(connection, version)?);
    }
    set_orders_version(connection, version).map_err(writing)?;
    Ok(ImportOutcome { imported, skipped: ready.saturating_sub(imported) })
}

/// Names the first id that an import could not have.
fn taken(connection: &Connection, version: i64) -> Result<StoreError, StoreError> {
    let id: Option<i64> = connection
        .query_row(
            "SELECT id FROM temp.ready JOIN orders USING (id) WHERE version < ?1
             ORDER BY position LIMIT 1",
            [version],
            |row| row.get(0),
        )
        .optional()
        .map_err(reading)?;
    Ok(StoreError::Refused(match id {
        Some(id) => format!("order {id} is already in the store; nothing was imported"),
        None => "an order is there twice; nothing was imported".to_string(),
    }))
}

fn ship(connection: &Connection, id: i64, version: i64) -> Result<(), StoreError> {
    let status = connection
        .query_row("SELECT status FROM orders WHERE id = ?1", [id], |row| {
            named(row, 0, Status::named)
        })
        .optional()
        .map_err(reading)?;
    match status {
        Some(Status::Shipped) => Ok(()),
        Some(Status::Pending) => connection
            .execute(
                "UPDATE orders SET status = 'shipped', version = ?2 WHERE id = ?1",
                [id, version],
            )
            .map(|_| ())
            .map_err(writing),
        Some(Status::Cancelled) => Err(StoreError::Refused(format!(
            "order {id} is cancelled and cannot be shipped; nothing was changed"
        ))),
        None => Err(StoreError::Refused(format!("there is no order {id}; nothing was changed"))),
    }
}

fn stored_order(row: &Row<'_>) -> rusqlite::Result<StoredOrder> {
    Ok(StoredOrder {
        id: row.get(0)?,
        pet_id: row.get(1)?,
        quantity: row.get(2)?,
        ship_date: row.get(3)?,
        complete: row.get(4)?,
        status: named(row, 5, Status::named)?,
        cancelled_at: row.get(6)?,
        cancelled_by: row.get(7)?,
    })
}
