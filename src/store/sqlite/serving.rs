//! What a running server asks of the embedded store.

use super::SqliteStore;
use super::connection::{connect, in_transaction};
use super::damage::quick_check_until;
use super::last_changes::{raise_change_number, read_last_changes};
use super::write_access::{BATCH_TIMEOUT, MINOR_WRITE_TIMEOUT};
use crate::clock::BootInstant;
use crate::keys::Digest;
use crate::limits::{KeyBan, NewBan};
use crate::log::ErrorChain;
use crate::store::account_rows::{MAX_CHANGED_KEYS, select_changed_keys, select_keys};
use crate::store::order_rows::SELECT_PET;
use crate::store::rules::not_cancelled;
use crate::store::statements::Statements;
use crate::store::{
    CancelOutcome, Cancellation, CancelledBatch, CancelledOrder, ChangeNumber, ChangeScope,
    Freshness, FreshnessReport, GivesUp, KeyChange, LastChanges, ListedOrder, LookedUpKeys,
    MIN_USE_INTERVAL_MS, OrderChange, OrdersRead, PolledChanges, PolledKeys, Store, StoreError,
    Structure,
};
use rusqlite::{Connection, params};
use slog::{Logger, warn};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use store_orders_api::types::{Pet, utc_text};

impl SqliteStore {
    /// The last changes, including every change that any process committed before this call.
    fn last_changes_now(&self) -> Result<LastChanges, StoreError> {
        self.files.require_lately_in_place()?;
        Ok(self.last_changes.lock().get()?)
    }
}

impl Store for SqliteStore {
    fn freshness(&self, _: Option<ChangeNumber>) -> Result<Freshness, StoreError> {
        // Without a readable id no list is tagged.
        let history = self.history.unwrap_or_default();
        let last_changes = self.last_changes_now()?;
        Ok(Freshness::Known(FreshnessReport { history, last_changes, changes: None }))
    }

    fn last_changes_at_once(&self) -> Option<LastChanges> {
        self.last_changes_now().ok()
    }

    fn history(&self) -> Result<u64, StoreError> {
        self.history.ok_or_else(|| StoreError::Engine {
            doing: "read",
            source: "its id cannot be read; see store-orders check".into(),
        })
    }

    fn poll_keys(&self, after: Option<ChangeNumber>) -> Result<PolledKeys, StoreError> {
        let as_of = BootInstant::now();
        let last_changes = self.last_changes_now()?;
        let polled = PolledChanges::new(last_changes, as_of);
        let Some(after) = after.filter(|after| last_changes.of_keys().has_more_than(*after)) else {
            return Ok(PolledKeys { polled, changes: None });
        };
        let mut connection = self.keys.lock();
        // One read transaction: the rows and the last changes belong together.
        let transaction = connection.transaction()?;
        let polled = PolledChanges::new(read_last_changes(&transaction)?, as_of);
        let statements: &dyn Statements = &*transaction;
        let query = select_changed_keys("version", "$1");
        let changes = statements.all(&query, &[&after.number], |row| KeyChange::read(row, 0))?;
        let changes = (changes.len() <= MAX_CHANGED_KEYS).then_some(changes);
        Ok(PolledKeys { polled, changes })
    }

    fn look_up_keys(&self, digests: &[Digest]) -> Result<LookedUpKeys, StoreError> {
        let as_of = BootInstant::now();
        self.files.require_lately_in_place()?;
        let mut connection = self.keys.lock();
        let transaction = connection.transaction()?;
        let polled = PolledChanges::new(read_last_changes(&transaction)?, as_of);
        let statements: &dyn Statements = &*transaction;
        let query = select_keys("(SELECT * FROM keys WHERE digest = $1)");
        let mut keys = Vec::new();
        for digest in digests {
            let row = statements.only(&query, &[&digest.0], |row| KeyChange::read(row, 0))?;
            keys.extend(row.and_then(KeyChange::into_key));
        }
        Ok(LookedUpKeys { polled, keys })
    }

    fn for_each_order_since(
        &self,
        after: ChangeNumber,
        visit: &mut dyn FnMut(OrderChange<'_>),
    ) -> Result<OrdersRead, StoreError> {
        let mut connection = self.scanner.lock();
        // One read transaction: the rows and the last changes belong together.
        let transaction = connection.transaction()?;
        let reached = read_last_changes(&transaction)?.of_orders();
        for_each_row_since(&transaction, after.number, visit)?;
        if after.number == 0
            && let Some(damage) = missing_rows(&transaction)?
        {
            let _ = self.damage.set(damage);
        }
        Ok(OrdersRead { reached, is_all: true })
    }

    fn cancel(&self, batch: &[Cancellation]) -> Result<CancelledBatch, StoreError> {
        in_transaction(&mut self.writer.lock_for_server(BATCH_TIMEOUT)?, |transaction| {
            let LastChanges { generation, orders: before, .. } = read_last_changes(transaction)?;
            let writes_from = Instant::now();
            let cancel = |cancellation: &Cancellation| {
                if cancellation.deadline <= writes_from {
                    return Ok(CancelOutcome::Expired);
                }
                cancel_one(transaction, cancellation, before + 1)
            };
            let outcomes = batch.iter().map(cancel).collect::<Result<Vec<_>, _>>()?;
            if !outcomes.contains(&CancelOutcome::Cancelled) {
                return Ok(CancelledBatch { outcomes, generation, change_numbers: None });
            }
            let change_numbers =
                Some((before, raise_change_number(transaction, ChangeScope::Orders)?));
            Ok(CancelledBatch { outcomes, generation, change_numbers })
        })
    }

    fn cancelled_order(&self, id: i64) -> Result<Option<CancelledOrder>, StoreError> {
        let statements: &dyn Statements = &*self.reader.lock();
        statements.only(CancelledOrder::SELECT, &[&id], CancelledOrder::read)
    }

    fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        let statements: &dyn Statements = &*self.reader.lock();
        let name = statements.only(SELECT_PET, &[&id], |row| row.get(0))?;
        Ok(name.map(|name| Pet { id, name }))
    }

    fn damage(&self) -> Option<&str> {
        self.damage.get().map(String::as_str)
    }

    fn quick_check(&self, gives_up: GivesUp) -> Result<Structure, StoreError> {
        let damage = quick_check_until(connect(&self.path)?, gives_up)?;
        Ok(damage.map_or(Structure::Sound, Structure::Damaged))
    }

    fn leave(self: Arc<Self>, timeout: Duration, log: &Logger) {
        if let Err(error) = empty_log(self, timeout) {
            warn!(log, "write-ahead log not emptied"; "error" => error,
                "effect" => "store.sqlite is whole only together with store.sqlite-wal");
        }
    }

    fn try_write(&self) -> Result<(), StoreError> {
        in_transaction(&mut self.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
            // SQLite does not write a row that stays the same, but always writes this
            // number in the file's header.
            let id: i64 =
                transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
            Ok(transaction.pragma_update(None, "application_id", id)?)
        })
    }

    fn record_bans(&self, bans: &[NewBan]) -> Result<(), StoreError> {
        in_transaction(&mut self.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
            let change_number = raise_change_number(transaction, ChangeScope::Keys)?;
            let mut update = transaction.prepare_cached(
                "UPDATE keys SET banned_until = ?2, ban_seconds = ?3, ban_number = ?4, version = ?5
                 WHERE row = ?1 AND ban_number < ?4",
            )?;
            for NewBan { key, ban: KeyBan { ends_at_ms, seconds, number } } in bans {
                update.execute(params![key, ends_at_ms, seconds, number, change_number])?;
            }
            Ok(())
        })
    }

    fn record_last_used(&self, uses: &[(i64, i64)]) -> Result<Vec<(i64, i64)>, StoreError> {
        in_transaction(&mut self.writer.lock_for_server(MINOR_WRITE_TIMEOUT)?, |transaction| {
            // A cache that was just read again may not know the last recorded use.
            let mut update = transaction.prepare_cached(
                "UPDATE keys SET used_at = ?2
                 WHERE row = ?1 AND (used_at IS NULL OR abs(?2 - used_at) >= ?3)",
            )?;
            for (row, at) in uses {
                update.execute([row, at, &MIN_USE_INTERVAL_MS])?;
            }
            Ok(Vec::new())
        })
    }
}

/// Empties the store's write-ahead log, so that `store.sqlite` alone has everything. The
/// connections are not closed in order, which would do the same.
fn empty_log(store: Arc<SqliteStore>, timeout: Duration) -> Result<(), String> {
    let (sender, outcome) = channel();
    // A disk may block for longer than there is time.
    let run = move || sender.send(store.checkpoint(timeout / 2));
    let thread = std::thread::Builder::new().name("checkpoint".to_string()).spawn(run);
    thread.map_err(|error| error.to_string())?;
    match outcome.recv_timeout(timeout) {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err("another process reads or writes the store".to_string()),
        Ok(Err(error)) => Err(ErrorChain(&error).to_string()),
        Err(_) => Err("not done in time".to_string()),
    }
}

fn for_each_row_since(
    connection: &Connection,
    after: i64,
    visit: &mut dyn FnMut(OrderChange<'_>),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(if is_long(connection, after)? {
        // In the order of the table. At number 0 no list shows a cancelled order yet.
        "SELECT id, pet_id, quantity, ship_date, complete, status = 'cancelled', status = 'shipped'
         FROM orders NOT INDEXED
         WHERE version > ?1 AND (?1 > 0 OR status <> 'cancelled') ORDER BY id"
    } else {
        "SELECT id, pet_id, quantity, ship_date, complete, status = 'cancelled', status = 'shipped'
         FROM orders INDEXED BY orders_by_version WHERE version > ?1 ORDER BY id"
    })?;
    let mut rows = statement.query([after])?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if row.get(5)? {
            visit(OrderChange::Removed(id));
            continue;
        }
        visit(OrderChange::Listed(ListedOrder {
            id,
            pet_id: row.get(1)?,
            quantity: row.get(2)?,
            ship_date: row.get_ref(3)?.as_str_or_null()?,
            complete: row.get(4)?,
            is_shipped: row.get(6)?,
        }));
    }
    Ok(())
}

/// How many changed orders are sorted, in memory: about 10 MB. Of a million orders, the whole table
/// is read in the time that sorting a tenth of it takes.
const MAX_SORTED_ORDERS: i64 = 100_000;

/// Whether so many orders have changed since this change that the whole table is read instead.
fn is_long(connection: &Connection, after: i64) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT ?1 = 0 OR EXISTS (SELECT 1 FROM orders INDEXED BY orders_by_version
                                  WHERE version > ?1 LIMIT 1 OFFSET ?2)",
    )?;
    statement.query_row([after, MAX_SORTED_ORDERS], |row| row.get(0))
}

/// Whether the table of orders has as many rows as its index. A torn page may read as one with
/// fewer rows, without an error. Both are counted from the headers of their pages: 0.1 s for a
/// million orders.
fn missing_rows(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let count = "SELECT (SELECT count(*) FROM orders NOT INDEXED),
                        (SELECT count(*) FROM orders INDEXED BY orders_by_version)";
    let (rows, indexed): (i64, i64) =
        connection.query_row(count, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let differ = || format!("the table of orders has {rows} rows, and its index {indexed}");
    Ok((rows != indexed).then(differ))
}

fn cancel_one(
    connection: &Connection,
    cancellation: &Cancellation,
    change_number: i64,
) -> Result<CancelOutcome, StoreError> {
    let Cancellation { order_id, key_id, at, .. } = cancellation;
    let changed = connection
        .prepare_cached(
            "UPDATE orders SET status = 'cancelled', version = ?2, cancelled_at = ?3,
                    cancelled_by = ?4
             WHERE id = ?1 AND status = 'pending'",
        )?
        .execute(params![order_id, change_number, utc_text(at), &**key_id])?;
    if changed == 1 {
        return Ok(CancelOutcome::Cancelled);
    }
    let statements: &dyn Statements = connection;
    let select = "SELECT status FROM orders WHERE id = $1";
    Ok(not_cancelled(statements.only(select, &[order_id], |row| row.parsed(0))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{NewOrder, OperatorStore, Records};

    #[test]
    fn the_keys_are_read_while_changed_orders_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let (pet_id, quantity, ship_date) = (7, 1, None);
        let order =
            NewOrder { id: 1, pet_id, quantity, ship_date, complete: false, shipped: false };
        store.import(Records::Orders(&[order]), false).unwrap();
        std::thread::scope(|scope| {
            let (read, was_read) = channel();
            let store = &store;
            store
                .for_each_order_since(LastChanges::default().of_orders(), &mut |_| {
                    let read = read.clone();
                    scope.spawn(move || {
                        let keys = store.look_up_keys(&[Digest([0; 32])]);
                        read.send(keys.unwrap().keys.len())
                    });
                    assert_eq!(was_read.recv_timeout(Duration::from_secs(60)), Ok(0));
                })
                .unwrap();
        });
    }

    #[test]
    fn what_was_cancelled_since_a_change_is_removed_and_was_never_listed_before() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let order = |id| NewOrder {
            id,
            pet_id: 7,
            quantity: 1,
            ship_date: None,
            complete: false,
            shipped: false,
        };
        store.import(Records::Orders(&[order(1), order(2)]), false).unwrap();
        let changes = |since| {
            let mut seen = Vec::new();
            let visit = &mut |change: OrderChange<'_>| {
                seen.push(match change {
                    OrderChange::Listed(order) => (order.id, true),
                    OrderChange::Removed(id) => (id, false),
                });
            };
            let reached = store.for_each_order_since(since, visit).unwrap().reached;
            (reached, seen)
        };
        let (before, all) = changes(LastChanges::default().of_orders());
        assert_eq!(all, [(1, true), (2, true)]);
        let cancellation = Cancellation {
            order_id: 1,
            key_id: Arc::from("key_of_nobody"),
            at: chrono::DateTime::UNIX_EPOCH,
            deadline: Instant::now() + Duration::from_secs(60),
        };
        let batch = store.cancel(&[cancellation]).unwrap();
        let (after, changed) = changes(before);
        assert_eq!(batch.change_numbers, Some((before.number, after.number)));
        assert_eq!(changed, [(1, false)]);
        assert_eq!(changes(LastChanges::default().of_orders()).1, [(2, true)]);
    }

    #[test]
    fn many_changes_are_read_like_few() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        store.import(Records::Orders(&[NewOrder::pending(1)]), false).unwrap();
        let since = read_last_changes(&store.scanner.lock()).unwrap().of_orders();
        let many: Vec<_> = (2..=MAX_SORTED_ORDERS + 2).map(NewOrder::pending).collect();
        store.import(Records::Orders(&many), false).unwrap();
        let is_long = |after: ChangeNumber| is_long(&store.scanner.lock(), after.number);
        assert!(is_long(since).unwrap());
        let cancelled = [1, 5].map(|order_id| Cancellation {
            order_id,
            key_id: Arc::from("key_of_nobody"),
            at: chrono::DateTime::UNIX_EPOCH,
            deadline: Instant::now() + Duration::from_secs(60),
        });
        store.cancel(&cancelled).unwrap();
        let (mut removed, mut listed) = (Vec::new(), Vec::new());
        let reached = store
            .for_each_order_since(since, &mut |change| match change {
                OrderChange::Listed(order) => listed.push(order.id),
                OrderChange::Removed(id) => removed.push(id),
            })
            .unwrap();
        assert_eq!(removed, [1, 5]);
        let all = 2..=MAX_SORTED_ORDERS + 2;
        assert_eq!(listed, all.filter(|id| *id != 5).collect::<Vec<_>>());
        assert!(!is_long(reached.reached).unwrap() && is_long(ChangeNumber::default()).unwrap());
    }
}
