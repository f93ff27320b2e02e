//! Orders for the operator's commands: shipped, shown, listed.

use super::SqliteStore;
use super::columns::parsed;
use super::connection::in_transaction;
use super::versions::{read_versions, set_orders_version};
use crate::store::rules::can_ship;
use crate::store::{Status, StoreError, StoredOrder};
use rusqlite::{Connection, OptionalExtension, Row};
use std::collections::BTreeSet;

const COLUMNS: &str =
    "id, pet_id, quantity, ship_date, complete, status, cancelled_at, cancelled_by";

/// Orders read at a time: their read takes about a millisecond.
const PAGE_ORDERS: usize = 1_000;

impl SqliteStore {
    /// Marks all of these orders as shipped, or none: from then on they cannot be
    /// cancelled. One that has shipped already is left as it is. Returns those that were
    /// marked.
    pub fn ship_orders(&self, ids: &[i64]) -> Result<BTreeSet<i64>, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let mut marked = BTreeSet::new();
            let version = read_versions(transaction)?.orders + 1;
            for id in ids {
                if can_ship(*id, status_of(transaction, *id)?)? {
                    transaction.execute(
                        "UPDATE orders SET status = 'shipped', version = ?2 WHERE id = ?1",
                        [*id, version],
                    )?;
                    marked.insert(*id);
                }
            }
            set_orders_version(transaction, version)?;
            Ok(marked)
        })
    }

    /// The order of this id, in any status.
    pub fn order(&self, id: i64) -> Result<Option<StoredOrder>, StoreError> {
        let connection = self.reader.lock();
        let mut statement =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM orders WHERE id = ?1"))?;
        Ok(statement.query_row([id], stored_order).optional()?)
    }

    /// The next orders with this id or a higher one; none after the last.
    pub fn orders_from(
        &self,
        first: i64,
        status: Option<Status>,
    ) -> Result<Vec<StoredOrder>, StoreError> {
        let connection = self.scanner.lock();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM orders WHERE id >= ?1 AND (?2 IS NULL OR status = ?2)
             ORDER BY id LIMIT {PAGE_ORDERS}"
        ))?;
        let orders = statement.query_map((first, status.map(Status::as_str)), stored_order)?;
        Ok(orders.collect::<Result<_, _>>()?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{NewOrder, OperatorStore};
    use rusqlite::Connection;
    use std::ops::ControlFlow;

    #[test]
    fn orders_are_visited_once_in_pages_and_no_read_stays_open() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let order = |id| NewOrder { shipped: id % 2 == 0, ..NewOrder::pending(id) };
        let pages = 3 * PAGE_ORDERS as i64;
        let ids: Vec<i64> = [i64::MIN, i64::MIN + 1]
            .into_iter()
            .chain(1..=pages)
            .chain([i64::MAX - 1, i64::MAX])
            .collect();
        let orders: Vec<_> = ids.iter().copied().map(order).collect();
        store.import_orders(&orders, false, &|| ()).unwrap();
        let other = Connection::open(store.path()).unwrap();
        let visited = |status| {
            let mut visited = Vec::new();
            store
                .for_each_order(status, &mut |order| {
                    if visited.len() % 500 == 0 {
                        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                        let busy: i64 = other.query_row(checkpoint, [], |row| row.get(0)).unwrap();
                        assert_eq!(busy, 0, "a read is open");
                    }
                    visited.push(order.id);
                    ControlFlow::Continue(())
                })
                .unwrap();
            visited
        };
        assert_eq!(visited(None), ids);
        let shipped: Vec<i64> = ids.iter().copied().filter(|id| id % 2 == 0).collect();
        assert_eq!(visited(Some(Status::Shipped)), shipped);
        assert!(visited(Some(Status::Cancelled)).is_empty());
    }
}
