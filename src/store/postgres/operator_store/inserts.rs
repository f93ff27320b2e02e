//! Inserts the rows of an import. Pipelining the statements for orders shortens the time for which
//! the import holds the change lock. Cancellations wait for this lock.

use super::{PostgresOperatorStore, commit_error};
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{postgres_error, require_one_row, write_error};
use crate::store::postgres::journal::LOCK_CHANGES;
use crate::store::postgres::rows::value;
use crate::store::row::{StoredRow, join};
use crate::store::{Order, StoreError};
use store_orders_api::types::Pet;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// Returns a statement that inserts orders and records the change. The transaction must use READ
/// COMMITTED and already hold the change lock. Otherwise, the statement might not see the store's
/// last change.
fn insert_orders(skip_existing: bool) -> String {
    let names = Order::names();
    let mut number = 0;
    let arrays = join(Order::COLUMNS, |column| {
        number += 1;
        format!("${number}::{}[]", column.sql_type)
    });
    let on_conflict = on_conflict(skip_existing);
    format!(
        "
    WITH last AS (SELECT changes.change_number, keys FROM changes, change_lock
                  ORDER BY changes.change_number DESC LIMIT 1),
    inserted AS (
        INSERT INTO orders ({names}, change_number)
        SELECT u.*, last.change_number + 1
        FROM unnest({arrays}) u, last
        {on_conflict} RETURNING id),
    change AS (
        INSERT INTO changes (change_number, orders, keys)
        SELECT change_number + 1, change_number + 1, keys FROM last RETURNING change_number)
    SELECT (SELECT count(*) FROM inserted) FROM change"
    )
}

fn on_conflict(skip_existing: bool) -> &'static str {
    if skip_existing { "ON CONFLICT (id) DO NOTHING" } else { "" }
}

const INSERT_PETS: &str = "
    INSERT INTO pets (id, name) SELECT * FROM unnest($1::bigint[], $2::text[])";

impl PostgresOperatorStore {
    /// Inserts these orders as one change, and returns the number of inserted rows. Pipelines the
    /// statements to hold the change lock only briefly, because cancellations wait for the lock.
    pub fn insert_orders(
        &self,
        orders: &[Order],
        skip_existing: bool,
    ) -> Result<usize, StoreError> {
        let mut columns = vec![Vec::with_capacity(orders.len()); Order::COLUMNS.len()];
        for order in orders {
            columns.iter_mut().zip(order.values()).for_each(|(column, value)| column.push(value));
        }
        let columns: Vec<_> = columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect();
        let insert = insert_orders(skip_existing);
        let connection = self.connection.lock();
        let Connection { client, link, .. } = &*connection;
        self.runtime.block_on(async {
            let insert = client.prepare(&insert).await.map_err(write_error)?;
            let begin = format!("BEGIN; {LOCK_CHANGES}");
            let unconfirmed_before = link.unconfirmed();
            let (locked, inserted, committed) = tokio::join!(
                client.batch_execute(&begin),
                client.query(&insert, &columns),
                // This COMMIT is sent even if an earlier statement fails. PostgreSQL then rolls the
                // transaction back.
                client.batch_execute("COMMIT"),
            );
            locked.map_err(commit_error)?;
            let inserted = inserted.map_err(commit_error)?;
            committed.map_err(commit_error)?;
            require_one_row("change_lock", inserted.len())?;
            if link.unconfirmed() != unconfirmed_before {
                return Err(StoreError::Unconfirmed);
            }
            let inserted: i64 = inserted.first().map_or(Ok(0), |row| value(row, 0))?;
            Ok(usize::try_from(inserted).unwrap_or(0))
        })
    }

    /// Inserts these pets, and returns the number of inserted rows. Pets have no change number,
    /// because servers do not keep them in memory.
    pub fn insert_pets(&self, pets: &[Pet], skip_existing: bool) -> Result<usize, StoreError> {
        pets.iter().try_for_each(|pet| refuse_nul(pet.id, &pet.name))?;
        let ids: Vec<i64> = pets.iter().map(|pet| pet.id).collect();
        let names: Vec<&str> = pets.iter().map(|pet| &*pet.name).collect();
        let insert = format!("{INSERT_PETS} {}", on_conflict(skip_existing));
        let inserted = self.write(async |transaction| {
            transaction.execute(&insert, &[&ids, &names]).await.map_err(write_error)
        })?;
        Ok(usize::try_from(inserted).unwrap_or(usize::MAX))
    }
}

/// True if the import failed because an id was already in the store, or occurred twice in the
/// import.
pub fn is_duplicate_id(error: &StoreError) -> bool {
    postgres_error(error).is_some_and(|error| error.state == Some(SqlState::UNIQUE_VIOLATION))
}

/// Fails if a name contains NUL, the one character that PostgreSQL does not store.
pub fn refuse_nul(pet: i64, name: &str) -> Result<(), StoreError> {
    if !name.contains('\0') {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the name of pet {pet} has a NUL character, which the database does not store"
    )))
}
