//! What the server asks of the store while it runs.

use super::{SqliteStore, connect, lock, read_versions, reading, writing};
use crate::keys::{Digest, Environment, KnownKey};
use crate::store::{
    CancelOutcome, Cancellation, CancelledBatch, ListedOrder, OrderChange, OrderCounts, Store,
    StoreError, Versions,
};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::sync::Arc;
use store_orders_api::plans::{Plan, PlanLimits};
use store_orders_api::types::{Pet, utc_text};

impl Store for SqliteStore {
    fn versions(&self) -> Result<Versions, StoreError> {
        lock(&self.checker).versions()
    }

    fn for_each_order_since(
        &self,
        after: i64,
        visit: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<i64, StoreError> {
        let mut connection = lock(&self.scanner);
        // One read transaction: the rows and the version belong together.
        let transaction = connection.transaction().map_err(reading)?;
        let version = read_versions(&transaction)?.orders;
        visit_rows(&transaction, after, visit).map_err(reading)?;
        Ok(version)
    }

    fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
        let mut connection = lock(&self.writer);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(writing)?;
        let before = read_versions(&transaction)?.orders;
        let version = before + 1;
        let outcomes = batch
            .iter()
            .map(|cancellation| cancel_one(&transaction, cancellation, version))
            .collect::<Result<Vec<_>, _>>()
            .map_err(writing)?;
        if !outcomes.contains(&CancelOutcome::Cancelled) {
            return Ok(CancelledBatch { outcomes, before, after: before });
        }
        set_orders_version(&transaction, version).map_err(writing)?;
        transaction.commit().map_err(writing)?;
        Ok(CancelledBatch { outcomes, before, after: version })
    }

    fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        lock(&self.reader)
            .prepare_cached("SELECT name FROM pets WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id], |row| Ok(Pet { id, name: row.get(0)? })).optional()
            })
            .map_err(reading)
    }

    fn keys(&self) -> Result<Vec<(Digest, KnownKey)>, StoreError> {
        let connection = lock(&self.scanner);
        let mut statement = connection
            .prepare_cached(
                "SELECT keys.digest, keys.row, keys.id, keys.account, keys.expires_at,
                        keys.revoked_at IS NOT NULL, accounts.plan, accounts.per_minute,
                        accounts.per_day, keys.used_at
                 FROM keys JOIN accounts ON accounts.id = keys.account",
            )
            .map_err(reading)?;
        let rows = statement.query_map([], known_key).map_err(reading)?;
        rows.collect::<Result<Vec<_>, _>>().map_err(reading)
    }

    fn count_orders(&self) -> Result<OrderCounts, StoreError> {
        // A connection of its own: a list must not wait for this.
        let connection = connect(&self.path)?;
        connection
            // GROUP BY would sort, and take twice as long.
            .query_row(
                "SELECT count(*) FILTER (WHERE status = 'pending'),
                        count(*) FILTER (WHERE status = 'shipped'),
                        count(*) FILTER (WHERE status = 'cancelled')
                 FROM orders",
                [],
                |row| {
                    let (pending, shipped, cancelled) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    Ok(OrderCounts { pending, shipped, cancelled })
                },
            )
            .map_err(reading)
    }

    fn try_write(&self) -> Result<(), StoreError> {
        let mut connection = lock(&self.writer);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(writing)?;
        // A row that stays the same is not written, but this number in the file's
        // header always is.
        let id: i64 = transaction
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(reading)?;
        transaction.pragma_update(None, "application_id", id).map_err(writing)?;
        transaction.commit().map_err(writing)
    }

    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<(), StoreError> {
        let mut connection = lock(&self.writer);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(writing)?;
        note(&transaction, uses).and_then(|()| transaction.commit()).map_err(writing)
    }
}

fn note(transaction: &Transaction<'_>, uses: &[(i64, i64)]) -> rusqlite::Result<()> {
    // A ring that was read anew may not know of the latest note.
    let mut update = transaction.prepare_cached(
        "UPDATE keys SET used_at = ?2
         WHERE row = ?1 AND (used_at IS NULL OR abs(?2 - used_at) >= 60000)",
    )?;
    uses.iter().try_for_each(|(row, at)| update.execute(params![row, at]).map(|_| ()))
}

fn visit_rows(
    connection: &Connection,
    after: i64,
    visit: &mut dyn FnMut(OrderChange<'_>),
) -> rusqlite::Result<()> {
    // From the start nobody has seen an order that is gone, and the table is
    // read in the order of its keys without the detour over the index.
    let statement = if after == 0 {
        "SELECT id, pet_id, quantity, ship_date, complete, 0 FROM orders NOT INDEXED
         WHERE status <> 'cancelled' AND version > ?1 ORDER BY id"
    } else {
        "SELECT id, pet_id, quantity, ship_date, complete, status = 'cancelled'
         FROM orders INDEXED BY orders_by_version WHERE version > ?1 ORDER BY id"
    };
    let mut statement = connection.prepare_cached(statement)?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if row.get(5)? {
            visit(OrderChange::Gone(id));
            continue;
        }
        visit(OrderChange::Listed(ListedOrder {
            id,
            pet_id: row.get(1)?,
            quantity: row.get(2)?,
            ship_date: row.get_ref(3)?.as_str_or_null()?,
            complete: row.get(4)?,
        }));
    }
    Ok(())
}

fn cancel_one(
    connection: &Connection,
    cancellation: &Cancellation,
    version: i64,
) -> rusqlite::Result<CancelOutcome> {
    let changed = connection
        .prepare_cached(
            "UPDATE orders SET status = 'cancelled', version = ?2, cancelled_at = ?3,
                    cancelled_by = ?4
             WHERE id = ?1 AND status = 'pending'",
        )?
        .execute(params![
            cancellation.order_id,
            version,
            utc_text(&cancellation.at),
            &*cancellation.key_id
        ])?;
    if changed == 1 {
        return Ok(CancelOutcome::Cancelled);
    }
    let shipped = connection
        .prepare_cached("SELECT 1 FROM orders WHERE id = ?1 AND status = 'shipped'")?
        .exists([cancellation.order_id])?;
    Ok(if shipped { CancelOutcome::AlreadyShipped } else { CancelOutcome::NotFound })
}

/// Stores the version that a transaction gives to the orders it changes.
pub(super) fn set_orders_version(connection: &Connection, version: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE versions SET orders = ?1")?.execute([version])?;
    Ok(())
}

fn known_key(row: &Row<'_>) -> rusqlite::Result<(Digest, KnownKey)> {
    let id: String = row.get(2)?;
    let key = KnownKey {
        row: row.get(1)?,
        id: Arc::from(id),
        account: row.get(3)?,
        plan: plan_of(row, 6)?,
        limits: limits_of(row, 6)?,
        expires_at_ms: row.get(4)?,
        revoked: row.get(5)?,
        used_at_ms: row.get::<_, Option<i64>>(9)?.unwrap_or(0).into(),
    };
    Ok((Digest(row.get(0)?), key))
}

/// The limits that the columns `plan`, `per_minute`, `per_day` from `first` on
/// amount to.
pub(super) fn limits_of(row: &Row<'_>, first: usize) -> rusqlite::Result<PlanLimits> {
    match plan_of(row, first)?.limits() {
        Some(limits) => Ok(limits),
        None => Ok(PlanLimits { per_minute: row.get(first + 1)?, per_day: row.get(first + 2)? }),
    }
}

/// The plan in this column; the schema lets no other word in.
pub(super) fn plan_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Plan> {
    named(row, column, |word| word.parse().ok())
}

/// The environment in this column; the schema lets no other word in.
pub(super) fn environment_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Environment> {
    named(row, column, Environment::named)
}

/// What the word in this column names.
pub(super) fn named<T>(
    row: &Row<'_>,
    column: usize,
    of: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?.as_str()?;
    of(word).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            format!("{word:?} is no word that this column knows").into(),
        )
    })
}
