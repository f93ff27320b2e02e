//! What a running server asks of the store.

mod batch;

use super::commands::write_at_once;
use super::connecting::roles::{SCANNER, WRITER};
use super::error::{read, unreachable_because, written};
use super::journal::{ask_once, last};
use super::limits::PostgresLimits;
use super::rows::{changed_order, read_row, value};
use super::session::heartbeat::deregister;
use super::session::opener::{Current, Opener, current};
use super::session::replica::Replica;
use super::session::{OpenError, Session, within};
use crate::keys::Digest;
use crate::limits::NewBan;
use crate::log::ErrorChain;
use crate::store::agreement::reading::ReadScope;
use crate::store::commands::Scope;
use crate::store::order_rows::SELECT_PET;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::{LONG_READ_LIMIT, READ_LIMIT, TEST_LIMIT};
use crate::store::statements;
use crate::store::value::Value;
use crate::store::{
    Cancellation, CancelledBatch, CancelledOrder, ChangeNumber, ChangedOrder, Freshness, GivesUp,
    LastChanges, LookedUpKeys, MIN_USE_INTERVAL_MS, OrderSender, OrdersRead, PolledKeys,
    REQUEST_TIMEOUT, SENT_ORDERS, Standbys, Store, StoreError, Structure,
};
use async_trait::async_trait;
use batch::{Batch, Done, carry_out};
use futures::{StreamExt, pin_mut};
use slog::{Logger, info};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::types::Pet;
use tokio::sync::watch;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

/// The store in PostgreSQL, as a server uses it.
pub struct PostgresStore {
    sessions: watch::Receiver<Current>,
    replica: Arc<Replica>,
}

impl PostgresStore {
    /// Opens the store. With `confirms_lists`, every question of lists is a commit. Servers that are
    /// `silent_for` as long, normally [`SILENT_FOR`](super::SILENT_FOR), are removed from those that
    /// the store shows.
    pub async fn open(
        url: PostgresUrl,
        confirms_lists: bool,
        silent_for: Duration,
        log: Logger,
    ) -> Result<PostgresStore, StoreError> {
        let replica = Arc::new(Replica::default());
        let opener = Opener { url, replica: Arc::clone(&replica), confirms_lists, silent_for, log };
        let sessions = opener.start().await.map_err(|error| match error {
            OpenError::Schema(error) | OpenError::Store(error) => error,
            other => unreachable_because(other.to_string()),
        })?;
        Ok(PostgresStore { sessions, replica })
    }

    /// What counts requests; an address may send this many a minute without a valid key. Call it
    /// inside a runtime.
    pub fn limits(&self, keyless_per_minute: u32, log: Logger) -> PostgresLimits {
        PostgresLimits::start(self.sessions.clone(), keyless_per_minute, log)
    }

    /// Removes this server from those that the store shows to the operator, within this time.
    pub async fn deregister(&self, timeout: Duration) -> Result<(), StoreError> {
        self.replica.leave();
        let session = current(&self.sessions)?;
        // Other connections wait for a lock much shorter than the heartbeat may hold this row.
        let left = async {
            let _writing = session.writing.lock().await;
            deregister(&session.writer.client, &self.replica).await
        };
        session.answer(timeout, left).await
    }

    /// The session of the moment, and which rows it reads after this change.
    fn session_after(&self, after: ChangeNumber) -> Result<(Arc<Session>, ReadScope), StoreError> {
        let session = current(&self.sessions)?;
        match ReadScope::of(after, session.generation) {
            Some(rows) => Ok((session, rows)),
            None => Err(unreachable_because("the store is at another generation by now")),
        }
    }

    /// What is read of the row of this id that a query asks for.
    async fn only<T>(
        &self,
        session: &Session,
        query: &str,
        id: i64,
        read_found: fn(&statements::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let _reading = within(REQUEST_TIMEOUT, async { Ok(session.reading.read().await) }).await?;
        let rows = async {
            session.reader.client.query_typed(query, &[(&id, Type::INT8)]).await.map_err(read)
        };
        let rows = session.answer(READ_LIMIT, rows).await?;
        rows.first().map(|row| read_row(row, read_found)).transpose()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn freshness(&self, list: Option<ChangeNumber>) -> Result<Freshness, StoreError> {
        let session = current(&self.sessions)?;
        if let Some(list) = list {
            self.replica.lists(list);
        }
        let ended = || unreachable_because("its session ended");
        session.questions.join(list).map(Freshness::Awaited).ok_or_else(ended)
    }

    fn history(&self) -> Result<u64, StoreError> {
        Ok(current(&self.sessions)?.history)
    }

    async fn poll_keys(&self, after: Option<ChangeNumber>) -> Result<PolledKeys, StoreError> {
        let session = current(&self.sessions)?;
        session.answer(READ_LIMIT, session.poll_keys(&self.replica, after)).await
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        let session = current(&self.sessions)?;
        session.answer(READ_LIMIT, session.look_up_keys(&self.replica, &digests)).await
    }

    async fn send_orders_since(
        &self,
        after: ChangeNumber,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        let (session, rows) = self.session_after(after)?;
        let read = match rows {
            ReadScope::All => send_all(&session, &self.replica, &to).await?,
            ReadScope::After(_) => send_changed(&session, &self.replica, after, &to).await?,
        };
        session.ending.require_open()?;
        if read.is_all {
            self.replica.lists(read.reached);
        }
        Ok(read)
    }

    async fn cancel(
        &self,
        cancellations: Arc<[Cancellation]>,
    ) -> Result<CancelledBatch, StoreError> {
        let batch = Batch::of(&cancellations, Instant::now());
        let Some(deadline) = batch.deadline else {
            let outcomes = batch.expired();
            return Ok(CancelledBatch { outcomes, generation: 0, change_numbers: None });
        };
        let done = carry_out(&self.sessions, &self.replica, &batch, deadline).await?;
        let (Done { outcomes, change_numbers }, generation) = done;
        let cancelled = CancelledBatch { outcomes, generation, change_numbers };
        self.replica.cancelled(&cancelled);
        Ok(cancelled)
    }

    async fn cancelled_order(&self, id: i64) -> Result<Option<CancelledOrder>, StoreError> {
        let session = current(&self.sessions)?;
        let seen = self.replica.seen().last().map(|seen| seen.number);
        if seen > Some(*session.confirmed.borrow()) {
            // Confirms the changes of the list that lacks the order, while the row is read.
            session.heartbeat_wanted.notify_one();
        }
        let query = format!(
            "SELECT cancelled.*, changed_in FROM ({}) AS cancelled, orders WHERE id = $1",
            CancelledOrder::SELECT
        );
        let read = |row: &statements::Row<'_>| Ok((CancelledOrder::read(row)?, row.get(5)?));
        let Some((order, number)) = self.only(&session, &query, id, read).await? else {
            return Ok(None);
        };
        within(READ_LIMIT, session.require_confirmed(number)).await?;
        Ok(Some(order))
    }

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        let session = current(&self.sessions)?;
        let name = self.only(&session, SELECT_PET, id, |row| row.get(0)).await?;
        Ok(name.map(|name| Pet { id, name }))
    }

    async fn quick_check(&self, _: GivesUp) -> Result<Structure, StoreError> {
        Ok(Structure::CheckedByEngine)
    }

    fn require_ready(&self) -> Result<(), StoreError> {
        let session = current(&self.sessions)?;
        session.require_lease()?;
        match session.outdated() {
            Some(why) => Err(StoreError::Refused(why)),
            None => Ok(()),
        }
    }

    fn standbys(&self) -> Standbys {
        self.replica.standbys()
    }

    fn announce(&self, url: String) {
        self.replica.set_address(url);
    }

    async fn leave(&self, timeout: Duration, log: &Logger) {
        if let Err(error) = self.deregister(timeout).await {
            info!(log, "replica not deregistered"; "error" => %ErrorChain(&error));
        }
    }

    async fn try_write(&self) -> Result<(), StoreError> {
        // A batch of none has the locks and the rights of any other, and changes nothing.
        let (none, deadline) = (Batch::of(&[], Instant::now()), Instant::now() + TEST_LIMIT);
        carry_out(&self.sessions, &self.replica, &none, deadline).await.map(drop)
    }

    /// On a connection of its own, so that no request waits for the lock of changes.
    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError> {
        let update = "UPDATE keys SET banned_until = $2, ban_seconds = $3, ban_number = $4,
                             changed_in = (SELECT max(version) FROM changes)
                      WHERE row = $1 AND ban_number < $4";
        let writes = bans.iter().map(|NewBan { key, ban }| {
            let values = [*key, ban.ends_at_ms, ban.seconds.into(), ban.number.into()];
            (update.to_string(), values.map(Value::Integer).to_vec())
        });
        let writes: Vec<_> = writes.collect();
        let session = current(&self.sessions)?;
        within(REQUEST_TIMEOUT, async {
            let own = session.open_another(&WRITER).await?;
            // Again if a command has changed keys in between.
            while !write_at_once(&own, Scope::Keys, last(&own.client).await?, writes.clone())
                .await?
            {}
            Ok(())
        })
        .await
    }

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<Vec<(i64, i64)>, StoreError> {
        let session = current(&self.sessions)?;
        let (rows, times): (Vec<i64>, Vec<i64>) = uses.into_iter().unzip();
        // A cache that was just read again may not know the last recorded use. The last of a
        // key's uses in one call wins.
        // A locked row would keep all other keys waiting.
        let update = "
            WITH use AS (SELECT k AS key, max(t) AS at
                         FROM unnest($1::bigint[], $2::bigint[]) u (k, t) GROUP BY k),
            free AS (SELECT keys.row, use.at FROM keys JOIN use ON keys.row = use.key
                     WHERE used_at IS NULL OR abs(use.at - used_at) >= $3
                     ORDER BY keys.row FOR NO KEY UPDATE OF keys SKIP LOCKED),
            recorded AS (UPDATE keys SET used_at = free.at FROM free WHERE keys.row = free.row
                         RETURNING keys.row)
            SELECT use.key, use.at FROM use JOIN keys ON keys.row = use.key
            WHERE (used_at IS NULL OR abs(use.at - used_at) >= $3)
              AND keys.row NOT IN (SELECT row FROM recorded)";
        let asked = async {
            let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
                (&rows, Type::INT8_ARRAY),
                (&times, Type::INT8_ARRAY),
                (&MIN_USE_INTERVAL_MS, Type::INT8),
            ];
            session.reader.client.query_typed(update, &parameters).await.map_err(written)
        };
        let _reading = session.reading.write().await;
        let left = session.answer(READ_LIMIT, asked).await?;
        left.iter().map(|row| Ok((value(row, 0)?, value(row, 1)?))).collect()
    }
}

/// How many rows one statement of a whole list reads. Each has a snapshot of its own: one that
/// lasts for seconds would keep old rows of the request counts from being removed.
pub const PAGE_ROWS: i64 = 50_000;

/// The next orders of the whole list.
const ALL_ORDERS: &str = "
    SELECT id, pet_id, quantity, ship_date, complete, status FROM orders
    WHERE id >= $1 AND status <> 'cancelled' ORDER BY id LIMIT $2";

/// The orders of the next changes: whole changes, and a page of rows or little more.
const CHANGED_ORDERS: &str = "
    SELECT id, pet_id, quantity, ship_date, complete, status, changed_in
    FROM orders WHERE changed_in > $1 AND changed_in <= coalesce(
        (SELECT changed_in FROM orders WHERE changed_in > $1 ORDER BY changed_in
         LIMIT 1 OFFSET $2 - 1), 9223372036854775807)
    ORDER BY id";

/// Sends every order. What changes meanwhile may be among them, and is read again with what changed
/// after the last changes before.
async fn send_all(
    session: &Session,
    replica: &Replica,
    to: &OrderSender,
) -> Result<OrdersRead, StoreError> {
    let read = scanned(session, replica, async |client, before| {
        let (id_column, mut from) = (0, Some(i64::MIN));
        while let Some(first) = from {
            let last = send_page(client, ALL_ORDERS, id_column, first, to).await?.1;
            from = last.and_then(|last| last.checked_add(1));
        }
        Ok(before)
    });
    let (before, last) = read.await?;
    Ok(OrdersRead::whole(before.of_orders(), last.of_orders()))
}

/// Sends the orders of the next changes.
async fn send_changed(
    session: &Session,
    replica: &Replica,
    after: ChangeNumber,
    to: &OrderSender,
) -> Result<OrdersRead, StoreError> {
    let change_column = 6;
    let read = scanned(session, replica, async |client, before| {
        let (rows, last) =
            send_page(client, CHANGED_ORDERS, change_column, after.number, to).await?;
        Ok(OrdersRead::page(after, before.of_orders(), last, rows >= PAGE_ROWS))
    });
    Ok(read.await?.0)
}

/// What is read on a connection of its own, so that pets do not wait for many rows; the
/// last changes before are told, and those after are returned.
async fn scanned<T>(
    session: &Session,
    replica: &Replica,
    rows: impl AsyncFnOnce(&Client, LastChanges) -> Result<T, StoreError>,
) -> Result<(T, LastChanges), StoreError> {
    let own = session.open_another(&SCANNER).await?;
    let journal = async || {
        let seen = replica.seen();
        let found = ask_once(&own.client, &seen);
        session.accept(replica, within(READ_LIMIT, found).await?)
    };
    let read = async {
        let read = rows(&own.client, journal().await?).await?;
        // Still of the history that it began in.
        Ok((read, journal().await?))
    };
    tokio::select! {
        read = read => read,
        _ = session.ending.ended() => Err(unreachable_because("its session ended")),
    }
}

/// Sends the orders of a page; returns how many they are, and the highest value of this column.
async fn send_page(
    client: &Client,
    query: &str,
    column: usize,
    from: i64,
    to: &OrderSender,
) -> Result<(i64, Option<i64>), StoreError> {
    let rows = client.query_typed_raw(query, [(from, Type::INT8), (PAGE_ROWS, Type::INT8)]);
    let rows = within(LONG_READ_LIMIT, async { rows.await.map_err(read) }).await?;
    pin_mut!(rows);
    let (mut count, mut highest, mut orders) = (0, None, Vec::new());
    while let Some(row) = within(READ_LIMIT, async { Ok(rows.next().await) }).await? {
        let row = row.map_err(read)?;
        (count, highest) = (count + 1, highest.max(Some(value::<i64>(&row, column)?)));
        orders.push(changed_order(&row, 0)?);
        if orders.len() == SENT_ORDERS {
            send(to, std::mem::take(&mut orders)).await?;
        }
    }
    send(to, orders).await?;
    Ok((count, highest))
}

async fn send(to: &OrderSender, orders: Vec<ChangedOrder>) -> Result<(), StoreError> {
    to.send(orders).await.map_err(|_| unreachable_because("nothing takes the orders any more"))
}
