//! The store's interface for a running server.

mod batch;

use super::commands::write_at_once;
use super::connecting::roles::{SCANNER, WRITER};
use super::error::{read_error, unreachable_because, write_error};
use super::journal::{query_journal, read_last};
use super::limits::PostgresLimits;
use super::rows::{read_order, read_row, value};
use super::session::heartbeat::deregister;
use super::session::opener::{Current, Opener, current};
use super::session::replica::Replica;
use super::session::{OpenError, Session, with_time_limit};
use crate::keys::Digest;
use crate::limits::NewBan;
use crate::log::ErrorChain;
use crate::store::agreement::reading::ReadScope;
use crate::store::commands::Scope;
use crate::store::order_rows::SELECT_PET;
use crate::store::postgres::connecting::PostgresUrl;
use crate::store::postgres::timeouts::{
    LONG_READ_LIMIT, MAINTENANCE_LIMIT, READ_LIMIT, TEST_LIMIT,
};
use crate::store::statements;
use crate::store::value::Value;
use crate::store::{
    Cancellation, CancelledBatch, CancelledOrder, ChangedOrder, Freshness, GivesUp, LastChanges,
    LookedUpKeys, MIN_USE_INTERVAL_MS, OrderSender, OrdersRead, PolledKeys, Position,
    REQUEST_TIMEOUT, SENT_ORDERS, Standbys, Store, StoreError, Structure,
};
use async_trait::async_trait;
use batch::{Batch, carry_out};
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
    /// Opens the store. With `confirms_lists`, every freshness query of a list request makes a
    /// commit that the standby must confirm. Servers without heartbeats for `silent_for`, normally
    /// [`SILENT_FOR`](super::SILENT_FOR), are removed from the table `replicas`.
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

    /// Starts the rate limiter. An address may send `unauthenticated_per_minute` requests without a
    /// valid key. Call it within a tokio runtime.
    pub fn limits(&self, unauthenticated_per_minute: u32, log: Logger) -> PostgresLimits {
        PostgresLimits::start(self.sessions.clone(), unauthenticated_per_minute, log)
    }

    /// Removes this server from the table `replicas`.
    pub async fn deregister(&self, timeout: Duration) -> Result<(), StoreError> {
        self.replica.leave();
        let session = current(&self.sessions)?;
        // Use the writer's connection, because a heartbeat may lock this row for longer than the
        // lock timeouts of the other connections.
        let removal = async {
            let _writing = session.writing.lock().await;
            deregister(&session.writer.client, &self.replica).await
        };
        session.answer(timeout, removal).await
    }

    /// Returns the current session, and the rows to read for a caller whose data reflects this
    /// change.
    fn session_after(&self, after: Position) -> Result<(Arc<Session>, ReadScope), StoreError> {
        let session = current(&self.sessions)?;
        match ReadScope::rows_after(after, session.history) {
            Some(rows) => Ok((session, rows)),
            None => Err(unreachable_because("the store failed over, and changes were lost")),
        }
    }

    /// Runs a query for the row of this id, and converts the row if there is one.
    async fn query_optional<T>(
        &self,
        session: &Session,
        query: &str,
        id: i64,
        convert: fn(&statements::Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let rows = async {
            session.reader.client.query_typed(query, &[(&id, Type::INT8)]).await.map_err(read_error)
        };
        let rows = session.answer(READ_LIMIT, rows).await?;
        rows.first().map(|row| read_row(row, convert)).transpose()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn freshness(&self, list: Option<Position>) -> Result<Freshness, StoreError> {
        let session = current(&self.sessions)?;
        if let Some(list) = list {
            self.replica.set_listed(list);
        }
        let ended = || unreachable_because("its session ended");
        session.list_queries.join(list).map(Freshness::Awaited).ok_or_else(ended)
    }

    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        let session = current(&self.sessions)?;
        session.answer(READ_LIMIT, session.poll_keys(&self.replica, after)).await
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        let session = current(&self.sessions)?;
        session.answer(READ_LIMIT, session.look_up_keys(&self.replica, &digests)).await
    }

    async fn send_orders_since(
        &self,
        after: Position,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        let (session, rows) = self.session_after(after)?;
        let read = match rows {
            ReadScope::All => send_all(&session, &self.replica, &to).await?,
            ReadScope::After(_) => send_changed(&session, &self.replica, after, &to).await?,
        };
        session.ending.require_open()?;
        if read.is_all {
            self.replica.set_listed(read.reached);
        }
        Ok(read)
    }

    async fn cancel(
        &self,
        cancellations: Arc<[Cancellation]>,
    ) -> Result<CancelledBatch, StoreError> {
        let batch = Batch::new(&cancellations, Instant::now());
        let Some(deadline) = batch.deadline else {
            let outcomes = batch.expired();
            return Ok(CancelledBatch { outcomes, positions: None });
        };
        let cancelled = carry_out(&self.sessions, &self.replica, &batch, deadline).await?;
        self.replica.record_cancelled(&cancelled);
        Ok(cancelled)
    }

    async fn cancelled_order(
        &self,
        id: i64,
        list: Position,
    ) -> Result<Option<CancelledOrder>, StoreError> {
        let (session, _) = self.session_after(list)?;
        let last_seen = self.replica.last_seen().last().map(|change| change.number);
        if last_seen > Some(*session.confirmed.borrow()) {
            // No commit has confirmed the last seen change yet. Request a heartbeat, which can
            // confirm it while the row is read.
            session.heartbeat_wanted.notify_one();
        }
        let query = format!(
            "SELECT cancelled.*, change_number FROM ({}) AS cancelled, orders WHERE id = $1",
            CancelledOrder::SELECT
        );
        let read = |row: &statements::Row<'_>| Ok((CancelledOrder::read(row)?, row.get(5)?));
        let Some((order, number)) = self.query_optional(&session, &query, id, read).await? else {
            return Ok(None);
        };
        with_time_limit(READ_LIMIT, session.require_confirmed(number)).await?;
        Ok(Some(order))
    }

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        let session = current(&self.sessions)?;
        let name = self.query_optional(&session, SELECT_PET, id, |row| row.get(0)).await?;
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
        // An empty batch needs the same locks and rights as any other, and changes nothing.
        let (empty, deadline) = (Batch::new(&[], Instant::now()), Instant::now() + TEST_LIMIT);
        carry_out(&self.sessions, &self.replica, &empty, deadline).await.map(drop)
    }

    /// Uses a separate connection, so that no request waits while the bans wait for the change
    /// lock.
    async fn record_bans(&self, bans: Vec<NewBan>) -> Result<(), StoreError> {
        let update = "UPDATE keys SET banned_until = $2, ban_seconds = $3, ban_number = $4,
                             change_number = (SELECT max(change_number) FROM changes)
                      WHERE row = $1 AND ban_number < $4";
        let writes = bans.iter().map(|NewBan { key, ban }| {
            let values = [*key, ban.ends_at_ms, ban.seconds.into(), ban.number.into()];
            (update.to_string(), values.map(Value::Integer).to_vec())
        });
        let writes: Vec<_> = writes.collect();
        let session = current(&self.sessions)?;
        with_time_limit(REQUEST_TIMEOUT, async {
            let connection = session.open_another(&WRITER).await?;
            // If a command has changed keys in between, `write_at_once` returns false. Then try
            // again.
            while !write_at_once(
                &connection,
                Scope::Keys,
                read_last(&connection.client).await?,
                writes.clone(),
            )
            .await?
            {}
            Ok(())
        })
        .await
    }

    async fn record_last_used(&self, uses: Vec<(i64, i64)>) -> Result<(), StoreError> {
        let session = current(&self.sessions)?;
        let (rows, times): (Vec<i64>, Vec<i64>) = uses.into_iter().unzip();
        // Check the interval between two uses again, because a cache that was just reread may lack
        // the last recorded use. Skip locked rows, because waiting for one would delay all other
        // keys. The next use after the interval is recorded.
        let update = "
            WITH free AS (SELECT keys.row, use.at
                          FROM keys JOIN unnest($1::bigint[], $2::bigint[]) use (key, at)
                          ON keys.row = use.key
                          WHERE used_at IS NULL OR abs(use.at - used_at) >= $3
                          ORDER BY keys.row FOR NO KEY UPDATE OF keys SKIP LOCKED)
            UPDATE keys SET used_at = free.at FROM free WHERE keys.row = free.row";
        let recording = async {
            let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
                (&rows, Type::INT8_ARRAY),
                (&times, Type::INT8_ARRAY),
                (&MIN_USE_INTERVAL_MS, Type::INT8),
            ];
            session.maintenance.client.execute_typed(update, &parameters).await.map_err(write_error)
        };
        session.answer(MAINTENANCE_LIMIT, recording).await.map(drop)
    }
}

/// The number of rows that one statement reads. A read of more rows takes several statements, each
/// with its own snapshot, because a snapshot that lasts for seconds would keep vacuum from removing
/// dead rows of the request counts.
pub const PAGE_ROWS: i64 = 50_000;

/// Selects a page of all orders, from the id `$1` on.
const ALL_ORDERS: &str = "
    SELECT id, pet_id, quantity, ship_date, complete, status FROM orders
    WHERE id >= $1 AND status <> 'cancelled' ORDER BY id LIMIT $2";

/// Selects a page of the orders that changed after the change `$1`. A page has only whole changes,
/// so it may have a few rows more than [`PAGE_ROWS`].
const CHANGED_ORDERS: &str = "
    SELECT id, pet_id, quantity, ship_date, complete, status, change_number
    FROM orders WHERE change_number > $1 AND change_number <= coalesce(
        (SELECT change_number FROM orders WHERE change_number > $1 ORDER BY change_number
         LIMIT 1 OFFSET $2 - 1), 9223372036854775807)
    ORDER BY id";

/// Sends every order, page by page. An order that changes meanwhile may be sent in its old or new
/// state. The caller reads such an order again later, because the returned change is the last one
/// before the read.
async fn send_all(
    session: &Session,
    replica: &Replica,
    to: &OrderSender,
) -> Result<OrdersRead, StoreError> {
    let read = with_scan_connection(session, replica, async |client, before| {
        let (id_column, mut from) = (0, Some(i64::MIN));
        while let Some(first) = from {
            let last = send_page(client, ALL_ORDERS, id_column, first, to).await?.1;
            from = last.and_then(|last| last.checked_add(1));
        }
        Ok(before)
    });
    let (before, last) = read.await?;
    Ok(OrdersRead::whole(before.orders, last.orders))
}

/// Sends one page of the orders that changed after the change `after`.
async fn send_changed(
    session: &Session,
    replica: &Replica,
    after: Position,
    to: &OrderSender,
) -> Result<OrdersRead, StoreError> {
    let change_column = 6;
    let read = with_scan_connection(session, replica, async |client, before| {
        let (rows, last) =
            send_page(client, CHANGED_ORDERS, change_column, after.number, to).await?;
        Ok(OrdersRead::page(after, before.orders, last, rows >= PAGE_ROWS))
    });
    Ok(read.await?.0)
}

/// Calls `read_rows` with a separate connection and the last changes before the read. Returns the
/// result of `read_rows`, and the last changes after the read. The connection is separate because a
/// long read on a shared one would delay other requests.
async fn with_scan_connection<T>(
    session: &Session,
    replica: &Replica,
    read_rows: impl AsyncFnOnce(&Client, LastChanges) -> Result<T, StoreError>,
) -> Result<(T, LastChanges), StoreError> {
    let connection = session.open_another(&SCANNER).await?;
    let last_changes = async || {
        let last_seen = replica.last_seen();
        let query = query_journal(&connection.client, &last_seen);
        session.accept(replica, with_time_limit(READ_LIMIT, query).await?)
    };
    let work = async {
        let result = read_rows(&connection.client, last_changes().await?).await?;
        // Reading the last changes again also checks that the history is still the same.
        Ok((result, last_changes().await?))
    };
    tokio::select! {
        result = work => result,
        _ = session.ending.ended() => Err(unreachable_because("its session ended")),
    }
}

/// Sends the orders of a page. Returns their number, and the highest value of the column `column`.
async fn send_page(
    client: &Client,
    query: &str,
    column: usize,
    from: i64,
    to: &OrderSender,
) -> Result<(i64, Option<i64>), StoreError> {
    let rows = client.query_typed_raw(query, [(from, Type::INT8), (PAGE_ROWS, Type::INT8)]);
    let rows = with_time_limit(LONG_READ_LIMIT, async { rows.await.map_err(read_error) }).await?;
    pin_mut!(rows);
    let (mut count, mut highest, mut orders) = (0, None, Vec::new());
    while let Some(row) = with_time_limit(READ_LIMIT, async { Ok(rows.next().await) }).await? {
        let row = row.map_err(read_error)?;
        (count, highest) = (count + 1, highest.max(Some(value::<i64>(&row, column)?)));
        orders.push(read_order(&row, 0)?);
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
