//! Imports of orders and pets, for the operator's commands.

use super::{PostgresCommands, lock_versions};
use crate::store::postgres::columns::value;
use crate::store::postgres::error::{read, written};
use crate::store::postgres::journal::note;
use crate::store::rules::imported;
use crate::store::{Half, ImportOutcome, NewOrder, RecordKind, Records, Status, StoreError};
use std::collections::HashSet;
use store_orders_api::types::{Pet, utc_text};
use tokio_postgres::Transaction;

/// The statement reads a column of each array, so that it is sent and planned once.
const INSERT_ORDERS: &str = "
    INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, changed_in)
    SELECT *, $7 FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[],
                             $5::boolean[], $6::text[])
    ON CONFLICT (id) DO NOTHING";

const INSERT_PETS: &str = "
    INSERT INTO pets (id, name) SELECT * FROM unnest($1::bigint[], $2::text[])
    ON CONFLICT (id) DO NOTHING";

impl PostgresCommands {
    /// Those of the ids that are in the store, in their order.
    pub fn find_existing(&self, kind: RecordKind, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let query = format!("SELECT id FROM {} WHERE id = ANY($1)", kind.table());
        let rows = self.ask(async |client| client.query(&query, &[&ids]).await.map_err(read))?;
        let existing: HashSet<i64> =
            rows.iter().map(|row| value(row, 0)).collect::<Result<_, _>>()?;
        Ok(ids.iter().copied().filter(|id| existing.contains(id)).collect())
    }

    /// Stores all of these records or none. An id that is in the store already is refused, or
    /// skipped with `skip_existing`.
    pub fn import_at_once(
        &self,
        records: Records<'_>,
        skip_existing: bool,
    ) -> Result<ImportOutcome, StoreError> {
        let mut stored = None;
        let written = self.write(async |transaction| {
            let inserted = match records {
                Records::Orders(orders) => insert_orders(transaction, orders).await?,
                Records::Pets(pets) => insert_pets(transaction, pets).await?,
            };
            let inserted = usize::try_from(inserted).unwrap_or(usize::MAX);
            stored = Some(inserted);
            // An error takes all of it back; which one it is follows from what is there then.
            imported(records, inserted, skip_existing, None)
        });
        match stored {
            Some(stored) if stored < records.count() && !skip_existing => {
                let taken = self.find_existing(records.kind(), &records.ids())?;
                imported(records, stored, skip_existing, taken.first().copied())
            }
            _ => written,
        }
    }
}

/// Adds those whose ids are not in the table, as one change, and returns their number.
async fn insert_orders(
    transaction: &Transaction<'_>,
    orders: &[NewOrder],
) -> Result<u64, StoreError> {
    let column = |of: fn(&NewOrder) -> i64| orders.iter().map(of).collect::<Vec<_>>();
    let (ids, pet_ids) = (column(|order| order.id), column(|order| order.pet_id));
    let quantities: Vec<i32> = orders.iter().map(|order| order.quantity).collect();
    let ship_dates: Vec<Option<String>> =
        orders.iter().map(|order| order.ship_date.as_ref().map(utc_text)).collect();
    let complete: Vec<bool> = orders.iter().map(|order| order.complete).collect();
    let status = |order: &NewOrder| match order.shipped {
        true => Status::Shipped.as_str(),
        false => Status::Pending.as_str(),
    };
    let statuses: Vec<&str> = orders.iter().map(status).collect();
    let insert = transaction.prepare(INSERT_ORDERS).await.map_err(written)?;
    // Other changes wait from here on, until the transaction ends.
    let number = lock_versions(transaction).await?;
    let inserted = transaction
        .execute(
            &insert,
            &[&ids, &pet_ids, &quantities, &ship_dates, &complete, &statuses, &number],
        )
        .await
        .map_err(written)?;
    note(transaction, number, Half::Orders).await?;
    Ok(inserted)
}

async fn insert_pets(transaction: &Transaction<'_>, pets: &[Pet]) -> Result<u64, StoreError> {
    pets.iter().try_for_each(|pet| refuse_nul(pet.id, &pet.name))?;
    let ids: Vec<i64> = pets.iter().map(|pet| pet.id).collect();
    let names: Vec<&str> = pets.iter().map(|pet| &*pet.name).collect();
    transaction.execute(INSERT_PETS, &[&ids, &names]).await.map_err(written)
}

/// Refuses the one character that PostgreSQL does not store.
pub fn refuse_nul(pet: i64, name: &str) -> Result<(), StoreError> {
    if !name.contains('\0') {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the name of pet {pet} has a NUL character, which the database does not store"
    )))
}
