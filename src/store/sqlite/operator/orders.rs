//! Orders as the operator handles them: imported, shipped, shown.

use super::super::serving::{named, set_orders_version};
use super::super::{SqliteStore, lock, read_versions, reading, writing};
use super::in_transaction;
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
    /// the rows are appended, which is fastest; `progress` is told after each.
    pub fn import_orders(
        &self,
        orders: &[NewOrder],
        skip_existing: bool,
        progress: &dyn Fn(),
    ) -> Result<ImportOutcome, StoreError> {
        in_transaction(self, |transaction| {
            let version = read_versions(transaction)?.orders + 1;
            let mut outcome = ImportOutcome::default();
            for order in orders {
                if insert(transaction, order, version).map_err(writing)? {
                    outcome.imported += 1;
                } else if skip_existing {
                    outcome.skipped += 1;
                } else {
                    return Err(StoreError::Refused(format!(
                        "order {} is already in the store; nothing was imported",
                        order.id
                    )));
                }
                progress();
            }
            set_orders_version(transaction, version).map_err(writing)?;
            Ok(outcome)
        })
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

/// Whether the order was stored: not if its id is there already.
fn insert(connection: &Connection, order: &NewOrder, version: i64) -> rusqlite::Result<bool> {
    let status = if order.shipped { Status::Shipped } else { Status::Pending };
    let inserted = connection
        .prepare_cached(
            "INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            order.id,
            order.pet_id,
            order.quantity,
            order.ship_date.as_ref().map(utc_text),
            order.complete,
            status.name(),
            version
        ])?;
    Ok(inserted == 1)
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
