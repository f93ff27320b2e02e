//! Implements [`Store`] on SQLite. Operations that may wait long for the disk or a lock run on a
//! blocking thread.

use super::backup::last_backup;
use super::connection::{connect, in_transaction};
use super::damage::quick_check_until;
use super::last_changes::{raise_change_number, read_last_changes, set_change_number};
use super::write_access::{BATCH_TIMEOUT, MINOR_WRITE_TIMEOUT};
use super::{OpenStore, SqliteStore};
use crate::api_key::Digest;
use crate::blocking::run;
use crate::clock::BootInstant;
use crate::log::ErrorChain;
use crate::rate_limiter::{KeyBan, NewBan};
use crate::store::account_rows::{MAX_CHANGED_KEYS, select_changed_keys, select_keys};
use crate::store::order_rows::SELECT_PET;
use crate::store::row::StoredRow;
use crate::store::rules::not_cancelled_outcome;
use crate::store::statements::{Row, Statements};
use crate::store::{
    CancelOutcome, Cancellation, CancelledBatch, ChangeScope, Freshness, FreshnessReport, GivesUp,
    KeyChange, KeyRecord, LastChanges, LookedUpKeys, MIN_USE_INTERVAL_MS, NotExecuted, Order,
    OrderSender, OrdersRead, PolledChanges, PolledKeys, Position, SENT_ORDERS, Store, StoreError,
    Structure,
};
use async_trait::async_trait;
use rusqlite::{Connection, params};
use slog::{Logger, warn};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use store_orders_api::types::{Pet, utc_text};

impl OpenStore {
    /// Returns the last changes, including every change that any process committed before this
    /// call.
    fn last_changes_now(&self) -> Result<LastChanges, StoreError> {
        self.files.require_recently_in_place()?;
        Ok(self.last_changes.lock().get()?)
    }
}

impl SqliteStore {
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OpenStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.0);
        run(move || work(&store)).await
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn query_freshness(&self, _: Option<Position>) -> Result<Freshness, StoreError> {
        let last_changes = self.0.last_changes_now()?;
        Ok(Freshness::Known(FreshnessReport { last_changes, changes: None }))
    }

    fn last_changes_at_once(&self) -> Option<LastChanges> {
        self.0.last_changes_now().ok()
    }

    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        self.blocking(move |store| {
            let as_of = BootInstant::now();
            let last_changes = store.last_changes_now()?;
            let polled = PolledChanges::new(last_changes, as_of);
            let Some(after) = after.filter(|after| last_changes.keys.has_more_than(*after)) else {
                return Ok(PolledKeys { polled, changes: None });
            };
            let mut connection = store.keys.lock();
            // Read the last changes and the rows in one transaction, so that they match.
            let transaction = connection.transaction()?;
            let polled = PolledChanges::new(read_last_changes(&transaction)?, as_of);
            let statements: &dyn Statements = &*transaction;
            let query = select_changed_keys("$1");
            let changes =
                statements.query_all(&query, &[&after.number], |row| KeyChange::read(row, 0))?;
            let changes = (changes.len() <= MAX_CHANGED_KEYS).then_some(changes);
            Ok(PolledKeys { polled, changes })
        })
        .await
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        self.blocking(move |store| {
            let as_of = BootInstant::now();
            store.files.require_recently_in_place()?;
            let mut connection = store.keys.lock();
            let transaction = connection.transaction()?;
            let polled = PolledChanges::new(read_last_changes(&transaction)?, as_of);
            let statements: &dyn Statements = &*transaction;
            let query = select_keys("(SELECT * FROM keys WHERE digest = $1)");
            let mut keys = Vec::new();
            for digest in &digests {
                let read = |row: &Row<'_>| KeyRecord::read(row, 0);
                keys.extend(statements.query_optional(&query, &[&digest.0], read)?);
            }
            Ok(LookedUpKeys { polled, keys })
        })
        .await
    }

    async fn send_orders_since(
        &self,
        after: Position,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        self.blocking(move |store| {
            let mut connection = store.scanner.lock();
            // Read the last changes and the rows in one transaction, so that they match.
            let transaction = connection.transaction()?;
            let last_change = read_last_changes(&transaction)?.orders;
            if after.number > 0 {
                Sending::new(&to).rows_since(&transaction, after.number)?;
            } else if let Some(damage) = send_all_rows(&transaction, &to)? {
                let _ = store.damage.set(damage);
            }
            Ok(OrdersRead { reached: last_change, is_all: true })
        })
        .await
    }

    async fn cancel(&self, batch: Arc<[Cancellation]>) -> Result<CancelledBatch, StoreError> {
        self.blocking(move |store| {
            in_transaction(&mut store.writer.lock_for_server(BATCH_TIMEOUT)?, |transaction| {
                let before = read_last_changes(transaction)?.orders;
                let after = Position { number: before.number + 1, ..before };
                let writes_from = Instant::now();
                let cancel = |cancellation: &Cancellation| {
                    if cancellation.deadline <= writes_from {
                        return Ok(Err(NotExecuted::Expired));
                    }
                    cancel_one(transaction, cancellation, after.number)
                };
                let outcomes = batch.iter().map(cancel).collect::<Result<Vec<_>, _>>()?;
                if !outcomes.contains(&Ok(CancelOutcome::Cancelled)) {
                    return Ok(CancelledBatch { outcomes, positions: None });
                }
                set_change_number(transaction, ChangeScope::Orders, after.number)?;
                Ok(CancelledBatch { outcomes, positions: Some((before, after)) })
            })
        })
        .await
    }

    async fn cancelled_order(&self, id: i64, _: u64) -> Result<Option<Order>, StoreError> {
        self.blocking(move |store| {
            let statements: &dyn Statements = &*store.reader.lock();
            statements.query_optional(&Order::select_cancelled(), &[&id], |row| Order::read(row, 0))
        })
        .await
    }

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        self.blocking(move |store| {
            let statements: &dyn Statements = &*store.reader.lock();
            let name = statements.query_optional(SELECT_PET, &[&id], |row| row.first())?;
            Ok(name.map(|name| Pet { id, name }))
        })
        .await
    }

    fn last_backup(&self) -> Option<f64> {
        let last = self.path().parent().and_then(last_backup);
        let last = last.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Some(last.unwrap_or_default().as_secs_f64())
    }

    fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    async fn quick_check(&self, gives_up: GivesUp) -> Result<Structure, StoreError> {
        self.blocking(move |store| {
            let damage = quick_check_until(connect(&store.path)?, gives_up)?;
            Ok(damage.map_or(Structure::Sound, Structure::Damaged))
        })
        .await
    }

    async fn leave(&self, timeout: Duration, log: &Logger) {
        // If the disk hangs, the checkpoint outlasts its own timeout. So limit the wait for the
        // checkpoint too.
        let emptying = self.blocking(move |store| store.checkpoint(timeout / 2));
        let error = match tokio::time::timeout(timeout, emptying).await {
            Ok(Ok(true)) => return,
            Ok(Ok(false)) => "another process reads or writes the store".to_string(),
            Ok(Err(error)) => ErrorChain(&error).to_string(),
            Err(_) => "not done in time".to_string(),
        };
        warn!(log, "write-ahead log not emptied"; "error" => error,
            "effect" => "store.sqlite is whole only together with store.sqlite-wal");
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        self.blocking(move |store| {
            in_transaction(&mut store.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
                // This write must reach the file. SQLite skips writing an unchanged row, but always
                // writes `application_id` to the file's header.
                let id: i64 =
                    transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
                Ok(transaction.pragma_update(None, "application_id", id)?)
            })
        })
        .await
    }

    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError> {
        self.blocking(move |store| {
            in_transaction(&mut store.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
                let change_number = raise_change_number(transaction, ChangeScope::Keys)?;
                let mut update = transaction.prepare_cached(
                    "UPDATE keys SET banned_until = ?2, ban_seconds = ?3, ban_number = ?4, change_number = ?5
                     WHERE row = ?1 AND ban_number < ?4",
                )?;
                for NewBan { key, ban: KeyBan { ends_at_ms, seconds, number } } in &bans {
                    update.execute(params![key, ends_at_ms, seconds, number, change_number])?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
        self.blocking(move |store| {
            in_transaction(&mut store.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
                // Check again that `MIN_USE_INTERVAL_MS` has passed since the last recorded use. A
                // key cache that was just reloaded may not know the last recorded use.
                let mut update = transaction.prepare_cached(
                    "UPDATE keys SET used_at = ?2
                     WHERE row = ?1 AND (used_at IS NULL OR abs(?2 - used_at) >= ?3)",
                )?;
                for (row, at) in &uses {
                    update.execute([row, at, &MIN_USE_INTERVAL_MS])?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// Sends all orders that are not cancelled. If the store is damaged, sends the readable orders and
/// returns a description of the damage.
fn send_all_rows(connection: &Connection, to: &OrderSender) -> Result<Option<String>, StoreError> {
    let mut sending = Sending::new(to);
    let read = sending
        .rows_since(connection, 0)
        .and_then(|()| find_missing_rows(connection).map_err(StoreError::from));
    match read {
        Err(StoreError::Damaged(damage)) => {
            sending.readable_rows(connection)?;
            Ok(Some(damage.to_string()))
        }
        damage => damage,
    }
}

struct Sending<'a> {
    to: &'a OrderSender,
    unsent: Vec<Order>,
    last_id: Option<i64>,
}

impl Sending<'_> {
    fn new(to: &OrderSender) -> Sending<'_> {
        Sending { to, unsent: Vec::new(), last_id: None }
    }

    /// Sends the orders that changed after the change with the number `after`. If `after` is 0,
    /// leaves out cancelled orders, because the receiver has no orders yet.
    fn rows_since(&mut self, connection: &Connection, after: i64) -> Result<(), StoreError> {
        let names = Order::names();
        let select = if needs_full_scan(connection, after)? {
            // Without an index, SQLite reads the table in the order of its ids, so nothing is
            // sorted.
            format!(
                "SELECT {names} FROM orders NOT INDEXED
                 WHERE change_number > ?1 AND (?1 > 0 OR status <> 'cancelled') ORDER BY id"
            )
        } else {
            format!(
                "SELECT {names} FROM orders INDEXED BY orders_by_change
                 WHERE change_number > ?1 ORDER BY id"
            )
        };
        let mut statement = connection.prepare_cached(&select)?;
        let mut rows = statement.query([after])?;
        while let Some(row) = rows.next()? {
            self.push(Order::read(row, 0)?)?;
        }
        self.flush()
    }

    /// Sends the readable orders above the last sent id, except cancelled orders.
    ///
    /// Finds the ids in the index `orders_by_change`, up to the first part of the index that cannot
    /// be read.
    fn readable_rows(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut ids: Vec<i64> = Vec::new();
        let mut statement =
            connection.prepare("SELECT id FROM orders INDEXED BY orders_by_change")?;
        let mut rows = statement.query([])?;
        while let Some(row) = unless_damaged(rows.next().map_err(StoreError::from))?.flatten() {
            ids.push(row.get(0)?);
        }
        ids.sort_unstable();
        let names = Order::names();
        let select = format!("SELECT {names} FROM orders WHERE id = ?1 AND status <> 'cancelled'");
        let mut statement = connection.prepare(&select)?;
        let sent = self.last_id;
        for id in ids.into_iter().filter(|id| sent.is_none_or(|last| *id > last)) {
            let mut rows = statement.query([id])?;
            let order = match unless_damaged(rows.next().map_err(StoreError::from))?.flatten() {
                Some(row) => unless_damaged(Order::read(row, 0))?,
                None => None,
            };
            if let Some(order) = order {
                self.push(order)?;
            }
        }
        self.flush()
    }

    fn push(&mut self, order: Order) -> Result<(), StoreError> {
        self.last_id = Some(order.id);
        self.unsent.push(order);
        if self.unsent.len() == SENT_ORDERS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.to.blocking_send(std::mem::take(&mut self.unsent)).map_err(|_| StoreError::Engine {
            doing: "read",
            source: "nothing takes the orders any more".into(),
        })
    }
}

fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(StoreError::Damaged(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The maximum number of changed orders that are sorted in memory. Sorting 100,000 orders needs
/// about 10 MB, and takes as long as reading a table of a million orders.
const MAX_SORTED_ORDERS: i64 = 100_000;

/// True if reading the whole table is faster than sorting the orders with change numbers above
/// `after`.
fn needs_full_scan(connection: &Connection, after: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT ?1 = 0 OR EXISTS (SELECT 1 FROM orders INDEXED BY orders_by_change
                                  WHERE change_number > ?1 LIMIT 1 OFFSET ?2)",
    )?;
    statement.query_row([after, MAX_SORTED_ORDERS], |row| row.get(0))
}

/// Returns a description of the damage if the table of orders and its index differ in their number
/// of rows. A torn page can look like a valid page with fewer rows. Counting a million orders takes
/// 0.1 s.
fn find_missing_rows(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let count = "SELECT (SELECT count(*) FROM orders NOT INDEXED),
                        (SELECT count(*) FROM orders INDEXED BY orders_by_change)";
    let (rows, indexed): (i64, i64) =
        connection.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let differ = || format!("the table of orders has {rows} rows, and its index {indexed}");
    Ok((rows != indexed).then(differ))
}

fn cancel_one(
    connection: &Connection,
    cancellation: &Cancellation,
    change_number: i64,
) -> Result<Result<CancelOutcome, NotExecuted>, StoreError> {
    let Cancellation { order_id, key_id, at, unchanged_since, .. } = cancellation;
    // The embedded store has only one history, so the number alone identifies the change.
    let unchanged_since = unchanged_since.map_or(i64::MAX, |position| position.number);
    let changed = connection
        .prepare_cached(
            "UPDATE orders SET status = 'cancelled', change_number = ?2, cancelled_at = ?3,
                    cancelled_by = ?4
             WHERE id = ?1 AND status = 'pending' AND change_number <= ?5",
        )?
        .execute(params![order_id, change_number, utc_text(at), &**key_id, unchanged_since])?;
    if changed == 1 {
        return Ok(Ok(CancelOutcome::Cancelled));
    }
    let statements: &dyn Statements = connection;
    let select = "SELECT status FROM orders WHERE id = $1";
    Ok(not_cancelled_outcome(
        statements.query_optional(select, &[order_id], |row| row.parse("status"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{OperatorStore, OrderStatus, Records};
    use futures::FutureExt;
    use tempfile::TempDir;
    use tokio::sync::mpsc;

    fn store() -> (SqliteStore, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        (SqliteStore::open(directory.path()).unwrap(), directory)
    }

    fn import(store: &SqliteStore, ids: impl Iterator<Item = i64>) {
        let orders: Vec<_> = ids.map(Order::pending).collect();
        store.import(Records::Orders(&orders), false).unwrap();
    }

    async fn cancel(store: &SqliteStore, ids: &[i64]) -> CancelledBatch {
        let cancellation = |id: &i64| Cancellation {
            order_id: *id,
            key_id: Arc::from("key_of_nobody"),
            at: chrono::DateTime::UNIX_EPOCH,
            deadline: Instant::now() + Duration::from_secs(60),
            unchanged_since: None,
        };
        store.cancel(ids.iter().map(cancellation).collect()).await.unwrap()
    }

    /// Returns the ids of the orders that changed after this position, and the position of the last
    /// change. The ids of cancelled orders are negated.
    async fn changes(store: &SqliteStore, after: Position) -> (Vec<i64>, Position) {
        let (sender, mut orders) = mpsc::channel(1);
        let received = async {
            let mut changed = Vec::new();
            while let Some(part) = orders.recv().await {
                changed.extend(part);
            }
            changed
        };
        let (read, changed) = tokio::join!(store.send_orders_since(after, sender), received);
        let signed = |order: &Order| match order.status {
            OrderStatus::Cancelled(_) => -order.id,
            _ => order.id,
        };
        (changed.iter().map(signed).collect(), read.unwrap().reached)
    }

    #[tokio::test]
    async fn reading_changed_orders_does_not_delay_key_lookups() {
        let (store, _directory) = store();
        import(&store, 1..=2 * SENT_ORDERS as i64);
        let (sender, mut orders) = mpsc::channel(1);
        let mut reading = store.send_orders_since(Position::default(), sender);
        // The channel has room for one part, so sending the second part blocks.
        assert!((&mut reading).now_or_never().is_none());
        let first = orders.recv().await.unwrap();
        assert_eq!(first.len(), SENT_ORDERS);
        let keys = store.look_up_keys(vec![Digest([0; 32])]).await.unwrap();
        assert!(keys.keys.is_empty() && (&mut reading).now_or_never().is_none());
        drop(orders);
        assert!(reading.await.is_err(), "the read fails once the receiver is dropped");
    }

    #[tokio::test]
    async fn cancelled_orders_are_sent_after_a_change_but_not_from_the_beginning() {
        let (store, _directory) = store();
        import(&store, 1..=2);
        let beginning = Position::default();
        let (all, before) = changes(&store, beginning).await;
        assert_eq!(all, [1, 2]);
        let batch = cancel(&store, &[1]).await;
        let (changed, after) = changes(&store, before).await;
        assert_eq!(batch.positions, Some((before, after)));
        assert_eq!(changed, [-1]);
        assert_eq!(changes(&store, beginning).await.0, [2]);
    }

    #[tokio::test]
    async fn an_order_with_an_unknown_status_is_reported_as_damage_and_left_out() {
        let (store, _directory) = store();
        import(&store, 1..=3);
        let damage = "PRAGMA ignore_check_constraints = ON;
                      UPDATE orders SET status = 'lost' WHERE id = 2";
        store.writer.lock().execute_batch(damage).unwrap();
        assert_eq!(changes(&store, Position::default()).await.0, [1, 3]);
        let reported = store.damage().unwrap();
        assert!(reported.starts_with("the column status is damaged: "), "{reported}");
    }

    #[tokio::test]
    async fn a_full_scan_returns_the_same_changes_as_the_index() {
        let (store, _directory) = store();
        import(&store, 1..=1);
        let since = read_last_changes(&store.scanner.lock()).unwrap().orders;
        import(&store, 2..=MAX_SORTED_ORDERS + 2);
        let needs_full_scan =
            |after: Position| needs_full_scan(&store.scanner.lock(), after.number);
        assert!(needs_full_scan(since).unwrap());
        cancel(&store, &[1, 5]).await;
        let (changed, last) = changes(&store, since).await;
        let sign = |id| if [1, 5].contains(&id) { -id } else { id };
        assert!(changed.into_iter().eq((1..=MAX_SORTED_ORDERS + 2).map(sign)));
        assert!(!needs_full_scan(last).unwrap());
        assert!(needs_full_scan(Position::default()).unwrap());
    }
}
