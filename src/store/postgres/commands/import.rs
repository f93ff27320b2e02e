//! Imports of orders and pets, for the operator's commands.

use super::{PostgresCommands, uncertain, unconfirmed};
use crate::store::postgres::columns::value;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{postgres_error, read, require_one_row, waited, written};
use crate::store::rules::imported;
use crate::store::{ImportOutcome, NewOrder, RecordKind, Records, Status, StoreError};
use std::collections::HashSet;
use store_orders_api::types::{Pet, utc_text};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// The lock of a change, which a server's cancellations wait for.
const BEGIN: &str = "BEGIN; SELECT FROM versions FOR NO KEY UPDATE";

/// Adds orders and their change. READ COMMITTED: its snapshot is taken after the lock.
const INSERT_ORDERS: &str = "
    WITH last AS (SELECT changes.version, keys FROM changes, versions
                  ORDER BY changes.version DESC LIMIT 1),
    inserted AS (
        INSERT INTO orders (id, pet_id, quantity, ship_date, complete, status, changed_in)
        SELECT u.*, version + 1
        FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::boolean[],
                    $6::text[]) u, last
        {on_conflict} RETURNING id),
    change AS (
        INSERT INTO changes (version, orders, keys)
        SELECT version + 1, version + 1, keys FROM last RETURNING version)
    SELECT (SELECT count(*) FROM inserted) FROM change";

const SKIP: &str = "ON CONFLICT (id) DO NOTHING";

const INSERT_PETS: &str = "
    INSERT INTO pets (id, name) SELECT * FROM unnest($1::bigint[], $2::text[])";

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
        let on_conflict = if skip_existing { SKIP } else { "" };
        let inserted = match records {
            Records::Orders(orders) => self.insert_orders(orders, on_conflict),
            Records::Pets(pets) => self.insert_pets(pets, on_conflict),
        };
        match inserted {
            Err(error) if is_taken(&error) => {
                let taken = self.find_existing(records.kind(), &records.ids())?;
                imported(records, 0, false, taken.first().copied())
            }
            inserted => imported(records, inserted?, skip_existing, None),
        }
    }

    /// Adds these as one change, and returns how many were inserted. All is sent at once, so that the lock is
    /// not held while the command waits for answers: it has a lower priority than servers.
    fn insert_orders(&self, orders: &[NewOrder], on_conflict: &str) -> Result<usize, StoreError> {
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
        let columns: [&(dyn ToSql + Sync); 6] =
            [&ids, &pet_ids, &quantities, &ship_dates, &complete, &statuses];
        let insert = INSERT_ORDERS.replace("{on_conflict}", on_conflict);
        let connection = self.connection.lock();
        let Connection { client, link, .. } = &*connection;
        self.runtime.block_on(async {
            let insert = client.prepare(&insert).await.map_err(written)?;
            let unconfirmed_before = link.unconfirmed();
            let (locked, inserted, committed) = tokio::join!(
                client.batch_execute(BEGIN),
                client.query(&insert, &columns),
                // After an error it takes all back.
                client.batch_execute("COMMIT"),
            );
            locked.map_err(waited)?;
            let inserted = inserted.map_err(written)?;
            committed.map_err(uncertain)?;
            require_one_row("versions", inserted.len())?;
            if link.unconfirmed() != unconfirmed_before {
                return Err(unconfirmed());
            }
            let inserted: i64 = inserted.first().map_or(Ok(0), |row| value(row, 0))?;
            Ok(usize::try_from(inserted).unwrap_or(0))
        })
    }

    fn insert_pets(&self, pets: &[Pet], on_conflict: &str) -> Result<usize, StoreError> {
        pets.iter().try_for_each(|pet| refuse_nul(pet.id, &pet.name))?;
        let ids: Vec<i64> = pets.iter().map(|pet| pet.id).collect();
        let names: Vec<&str> = pets.iter().map(|pet| &*pet.name).collect();
        let insert = format!("{INSERT_PETS} {on_conflict}");
        let inserted = self.write(async |transaction| {
            transaction.execute(&insert, &[&ids, &names]).await.map_err(written)
        })?;
        Ok(usize::try_from(inserted).unwrap_or(usize::MAX))
    }
}

/// Whether an id was in the store already, or twice among those given.
fn is_taken(error: &StoreError) -> bool {
    postgres_error(error).is_some_and(|error| error.state == Some(SqlState::UNIQUE_VIOLATION))
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
