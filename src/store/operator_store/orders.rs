//! The operator's commands on orders. Also finds which ids of an import the store already has.

use super::engine::{Engine, Scope};
use crate::store::row::{StoredColumn, StoredRow, join};
use crate::store::rules::{can_cancel, can_ship, can_update};
use crate::store::statements::{Row, Statements};
use crate::store::value::Parameter;
use crate::store::{Cancelled, Order, OrderUpdate, RecordKind, Status, StoreError};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use store_orders_api::types::utc_text;

/// The maximum number of rows that one query reads. A page of orders takes some milliseconds, so a
/// round trip of about 1 ms adds little.
pub const PAGE_ORDERS: usize = 5_000;

pub trait OrderCommands {
    /// Returns the order with this id, in any status.
    fn order(&self, id: i64) -> Result<Option<Order>, StoreError>;

    /// Returns a page: at most [`PAGE_ORDERS`] orders in ascending order of id, from the id `first`
    /// on. With `status`, returns only orders in this status. Past the last order, the page is
    /// empty.
    fn orders_from(&self, first: i64, status: Option<Status>) -> Result<Vec<Order>, StoreError>;

    /// Visits the orders in ascending order of id until `visit` returns `Break`. Each page is a
    /// separate read, because a long read would delay checkpoints and vacuuming.
    fn for_each_order(
        &self,
        status: Option<Status>,
        visit: &mut dyn FnMut(Order) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut from = Some(i64::MIN);
        while let Some(first) = from {
            let page = self.orders_from(first, status)?;
            from = page.last().and_then(|order| order.id.checked_add(1));
            for order in page {
                if visit(order).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Returns the ids that the store already has, in the sequence of `ids`. Includes ids of
    /// cancelled orders, because an id is never used again.
    fn existing(&self, kind: RecordKind, ids: &[i64]) -> Result<Vec<i64>, StoreError>;

    /// Returns the statuses of the orders with these ids. Orders that do not exist are absent from
    /// the result.
    fn order_statuses(&self, ids: &[i64]) -> Result<HashMap<i64, Status>, StoreError>;

    /// Makes all of these updates, or none if an order is cancelled or does not exist. No two
    /// updates may be for the same order, because SQL would apply only one of them.
    fn update_orders(&self, updates: &[OrderUpdate]) -> Result<(), StoreError>;

    /// Marks all of these orders as shipped, or none if one is cancelled or does not exist. Returns
    /// the orders that had not shipped before.
    fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError>;

    /// Cancels all of these orders, or none if one has shipped or does not exist. Returns the
    /// orders that were not cancelled before.
    fn cancel_orders(
        &self,
        ids: &[i64],
        cancelled: &Cancelled,
    ) -> Result<BTreeSet<i64>, StoreError>;
}

impl<E: Engine> OrderCommands for E {
    fn order(&self, id: i64) -> Result<Option<Order>, StoreError> {
        let query = format!("SELECT {} FROM orders WHERE id = $1", Order::names());
        self.read(|statements| statements.query_optional(&query, &[&id], read_order))
    }

    fn orders_from(&self, first: i64, status: Option<Status>) -> Result<Vec<Order>, StoreError> {
        let query = format!(
            "SELECT {} FROM orders
             WHERE id >= $1 AND (CAST($2 AS text) IS NULL OR status = $2)
             ORDER BY id LIMIT {PAGE_ORDERS}",
            Order::names()
        );
        let status = status.map(Status::as_str);
        self.read(|statements| statements.query_all(&query, &[&first, &status], read_order))
    }

    fn existing(&self, kind: RecordKind, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let query = format!("SELECT id FROM {} WHERE id IN ({})", kind.table(), E::NUMBERS);
        let json = format!("{ids:?}");
        let rows =
            self.read(|statements| statements.query_all(&query, &[&json], |row| row.first()))?;
        let existing: HashSet<i64> = rows.into_iter().collect();
        Ok(ids.iter().copied().filter(|id| existing.contains(id)).collect())
    }

    fn order_statuses(&self, ids: &[i64]) -> Result<HashMap<i64, Status>, StoreError> {
        self.read(|statements| statuses::<E>(statements, ids))
    }

    fn update_orders(&self, updates: &[OrderUpdate]) -> Result<(), StoreError> {
        let ids: Vec<i64> = updates.iter().map(|update| update.id).collect();
        let json = serde_json::to_string(updates)
            .map_err(|error| StoreError::Engine { doing: "written", source: error.into() })?;
        let values = join(OrderUpdate::COLUMNS, |StoredColumn { name, sql_type }| {
            format!("CAST(value ->> '{name}' AS {sql_type}) AS {name}")
        });
        let assignments = join(OrderUpdate::COLUMNS, |StoredColumn { name, .. }| {
            format!("{name} = coalesce(updates.{name}, orders.{name})")
        });
        let update = format!(
            "UPDATE orders SET {assignments}, change_number = {}
             FROM (SELECT {values} FROM {}) AS updates WHERE orders.id = updates.id",
            E::ORDERS_CHANGE,
            E::OBJECTS
        );
        self.change(Scope::Orders(&ids), |statements| {
            let statuses = statuses::<E>(statements, &ids)?;
            ids.iter().try_for_each(|id| can_update(*id, statuses.get(id).copied()))?;
            statements.execute(&update, &[&json])
        })
    }

    fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
        change_pending(self, ids, can_ship, "status = 'shipped'", &[])
    }

    fn cancel_orders(
        &self,
        ids: &[i64],
        cancelled: &Cancelled,
    ) -> Result<BTreeSet<i64>, StoreError> {
        let assignments = "status = 'cancelled', cancelled_at = $2, cancelled_by = $3";
        let (at, by) = (utc_text(&cancelled.at), &*cancelled.by);
        change_pending(self, ids, can_cancel, assignments, &[&at, &by])
    }
}

/// Changes the pending orders among `ids`, and returns their ids. Changes nothing if `can_change`
/// fails for one of the orders. `parameters` contains the values of `$2`, `$3` and so on in
/// `assignments`.
fn change_pending<E: Engine>(
    engine: &E,
    ids: &[i64],
    can_change: fn(i64, Option<Status>) -> Result<bool, StoreError>,
    assignments: &str,
    parameters: &[&dyn Parameter],
) -> Result<BTreeSet<i64>, StoreError> {
    let json = format!("{ids:?}");
    let update = format!(
        "UPDATE orders SET {assignments}, change_number = {}
         WHERE status = 'pending' AND id IN ({})",
        E::ORDERS_CHANGE,
        E::NUMBERS
    );
    let mut all: Vec<&dyn Parameter> = vec![&json];
    all.extend(parameters);
    engine.change(Scope::Orders(ids), |statements| {
        let statuses = statuses::<E>(statements, ids)?;
        let mut changed = BTreeSet::new();
        for id in ids {
            if can_change(*id, statuses.get(id).copied())? {
                changed.insert(*id);
            }
        }
        statements.execute(&update, &all)?;
        Ok(changed)
    })
}

fn statuses<E: Engine>(
    statements: &dyn Statements,
    ids: &[i64],
) -> Result<HashMap<i64, Status>, StoreError> {
    let select = format!("SELECT id, status FROM orders WHERE id IN ({})", E::NUMBERS);
    let json = format!("{ids:?}");
    let rows = statements
        .query_all(&select, &[&json], |row| Ok((row.get("id")?, row.parse("status")?)))?;
    Ok(rows.into_iter().collect())
}

fn read_order(row: &Row<'_>) -> Result<Order, StoreError> {
    Order::read(row, 0)
}
