//! Imports of orders and pets.

use super::SqliteStore;
use super::connection::in_transaction;
use super::last_changes::raise_change_number;
use crate::store::rules::imported;
use crate::store::{Half, ImportOutcome, Records, Status, StoreError};
use rusqlite::params;
use store_orders_api::types::utc_text;

impl SqliteStore {
    /// Stores all of these records or none. An id that is in the store already is refused, or
    /// skipped with `skip_existing`.
    pub fn import_at_once(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError> {
        in_transaction(&mut self.writer.lock(), |transaction| {
            let (mut stored, mut taken) = (0, None);
            let mut count = |id: i64, inserted: usize| {
                stored += inserted;
                if inserted == 0 {
                    taken.get_or_insert(id);
                }
            };
            match records {
                Records::Orders(orders) => {
                    let change_number = raise_change_number(transaction, Half::Orders)?;
                    let mut insert = transaction.prepare_cached(
                        "INSERT INTO orders
                             (id, pet_id, quantity, ship_date, complete, status, version)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
                    )?;
                    for order in orders {
                        let status = if order.shipped { Status::Shipped } else { Status::Pending };
                        let ship_date = order.ship_date.as_ref().map(utc_text);
                        let inserted = insert.execute(params![
                            order.id,
                            order.pet_id,
                            order.quantity,
                            ship_date,
                            order.complete,
                            status.as_str(),
                            change_number,
                        ])?;
                        count(order.id, inserted);
                    }
                }
                Records::Pets(pets) => {
                    let mut insert = transaction.prepare_cached(
                        "INSERT INTO pets (id, name) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
                    )?;
                    for pet in pets {
                        count(pet.id, insert.execute((pet.id, &pet.name))?);
                    }
                }
            }
            let is_twice = |id: &i64| records.ids().iter().filter(|own| *own == id).count() > 1;
            imported(records, stored, skip_existing, taken.filter(|id| !is_twice(id)))
        })
    }
}
