//! Implements the server store in PostgreSQL. A call uses the session that is open at the start of
//! the call. Only cancellations can wait for a later session.

use super::connecting::PostgresUrl;
use super::connecting::roles::{SCANNER, WRITER};
use super::error::{postgres_error, read_error, unreachable_because};
use super::journal::{query_journal, read_last};
use super::operator_store::write_at_once;
use super::rate_limiter::PostgresRateLimiter;
use super::rows::{column_index, value};
use super::session::opener::{Current, Opener, current};
use super::session::replica::Replica;
use super::session::{Batch, OpenError, Session, time_to_send, too_late, with_time_limit};
use super::timeouts::{LONG_READ_LIMIT, READ_LIMIT, RETRY_PAUSE, SESSION_WAIT, TEST_LIMIT};
use crate::api_key::Digest;
use crate::log::ErrorChain;
use crate::rate_limiter::NewBan;
use crate::store::agreement::reading::ReadScope;
use crate::store::operator_store::Scope;
use crate::store::row::StoredRow;
use crate::store::value::Value;
use crate::store::{
    Cancellation, CancelledBatch, Freshness, GivesUp, LastChanges, LookedUpKeys, Order,
    OrderSender, OrdersRead, PolledKeys, Position, REQUEST_TIMEOUT, SENT_ORDERS, Standbys, Store,
    StoreError, Structure,
};
use async_trait::async_trait;
use futures::{StreamExt, pin_mut};
use slog::{Logger, info};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::types::Pet;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout_at};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

pub struct PostgresStore {
    sessions: watch::Receiver<Current>,
    replica: Arc<Replica>,
}

impl PostgresStore {
    /// Opens the store. If the store cannot be reached, this function still succeeds, and a task
    /// keeps trying. Fails if the operator must act before another attempt can succeed.
    ///
    /// With `confirms_lists`, every freshness query makes a commit that the standby must confirm.
    /// Servers without heartbeats for `silent_for`, normally [`SILENT_FOR`](super::SILENT_FOR), are
    /// removed from the table `replicas`.
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

    /// Starts the rate limiter. `unauthenticated_per_minute` is the limit per address for requests
    /// without a valid key. Must be called within a tokio runtime.
    pub fn rate_limiter(
        &self,
        unauthenticated_per_minute: u32,
        log: Logger,
    ) -> PostgresRateLimiter {
        PostgresRateLimiter::start(self.sessions.clone(), unauthenticated_per_minute, log)
    }

    /// Stops this server's heartbeats, and removes its row from the table `replicas`.
    pub async fn deregister(&self, timeout: Duration) -> Result<(), StoreError> {
        self.replica.leave();
        current(&self.sessions)?.writer.deregister(timeout).await
    }

    /// Executes a batch. If the session ends or the error is transient, tries again while the
    /// deadline allows another attempt. All attempts share the batch's id, so the batch takes
    /// effect only once.
    async fn execute(
        &self,
        batch: &Batch,
        deadline: Instant,
    ) -> Result<CancelledBatch, StoreError> {
        let mut waits_until = deadline.min(Instant::now() + SESSION_WAIT);
        loop {
            let session = self.wait_for_session(waits_until).await?;
            let wait_is_over = match session.state.wait.over(Instant::now()) {
                Ok(wait_is_over) => wait_is_over,
                Err(until) if Instant::now() < deadline => {
                    sleep_until(until.min(deadline).into()).await;
                    continue;
                }
                Err(_) => return Err(too_late()),
            };
            let error = match session.writer.execute(batch, deadline, &wait_is_over).await {
                Ok(cancelled) => return Ok(cancelled),
                Err(error) => error,
            };
            // The batch may have been executed, and only another attempt can find out. So from now
            // on, wait for a session until the deadline.
            waits_until = deadline;
            let may_succeed = session.state.require_open().is_err() || is_transient(&error);
            if !may_succeed || time_to_send(deadline, Instant::now() + RETRY_PAUSE).is_none() {
                return Err(error);
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn wait_for_session(&self, until: Instant) -> Result<Arc<Session>, StoreError> {
        let mut sessions = self.sessions.clone();
        let is_open = |current: &Current| {
            current.as_ref().is_ok_and(|session| session.state.require_open().is_ok())
        };
        if let Ok(Ok(current)) = timeout_at(until.into(), sessions.wait_for(is_open)).await {
            return current.clone().map_err(|why| unreachable_because(&*why));
        }
        let why = self.sessions.borrow().as_ref().err().cloned();
        Err(unreachable_because(why.as_deref().unwrap_or("its session ended")))
    }
}

/// Returns the error for a caller whose history is not the current session's.
fn changes_were_lost() -> StoreError {
    unreachable_because("the store failed over, and changes were lost")
}

#[async_trait]
impl Store for PostgresStore {
    fn query_freshness(&self, list: Option<Position>) -> Result<Freshness, StoreError> {
        let session = current(&self.sessions)?;
        if let Some(list) = list {
            self.replica.set_listed(list);
        }
        let ended = || unreachable_because("its session ended");
        session.lists.join(list).map(Freshness::Awaited).ok_or_else(ended)
    }

    async fn poll_keys(&self, after: Option<Position>) -> Result<PolledKeys, StoreError> {
        current(&self.sessions)?.keys.poll(after).await
    }

    async fn look_up_keys(&self, digests: Vec<Digest>) -> Result<LookedUpKeys, StoreError> {
        current(&self.sessions)?.keys.look_up(&digests).await
    }

    async fn send_orders_since(
        &self,
        after: Position,
        to: OrderSender,
    ) -> Result<OrdersRead, StoreError> {
        let session = current(&self.sessions)?;
        let rows = ReadScope::rows_after(after, session.state.history);
        let read = match rows.ok_or_else(changes_were_lost)? {
            ReadScope::All => send_all(&session, &to).await?,
            ReadScope::After(_) => send_changed(&session, after, &to).await?,
        };
        session.state.require_open()?;
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
        let cancelled = self.execute(&batch, deadline).await?;
        self.replica.record_cancelled(&cancelled);
        Ok(cancelled)
    }

    async fn cancelled_order(&self, id: i64, history: u64) -> Result<Option<Order>, StoreError> {
        let session = current(&self.sessions)?;
        if session.state.history != history {
            return Err(changes_were_lost());
        }
        session.cancelled_order(id).await
    }

    async fn pet(&self, id: i64) -> Result<Option<Pet>, StoreError> {
        current(&self.sessions)?.rows.pet(id).await
    }

    async fn quick_check(&self, _: GivesUp) -> Result<Structure, StoreError> {
        Ok(Structure::CheckedByEngine)
    }

    fn require_ready(&self) -> Result<(), StoreError> {
        let session = current(&self.sessions)?;
        session.state.require_lease()?;
        session.maintenance.require_current()
    }

    fn can_return(&self) -> bool {
        true
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
        // An empty batch tests the change lock and the write rights, but changes no order.
        let (empty, deadline) = (Batch::new(&[], Instant::now()), Instant::now() + TEST_LIMIT);
        self.execute(&empty, deadline).await.map(drop)
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
            // `write_at_once` returns false if accounts or keys have changed since `read_last`.
            // Then try again.
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
        current(&self.sessions)?.maintenance.record_last_used(uses).await
    }
}

/// True if PostgreSQL cancelled the statement or did not give it a lock, so that a retry may
/// succeed.
fn is_transient(error: &StoreError) -> bool {
    let state = postgres_error(error).and_then(|error| error.state.as_ref());
    matches!(
        state,
        Some(
            &SqlState::LOCK_NOT_AVAILABLE
                | &SqlState::T_R_DEADLOCK_DETECTED
                | &SqlState::QUERY_CANCELED
        )
    )
}

/// The number of rows that one statement reads. A statement for all rows would hold its snapshot
/// for seconds, and vacuum could not remove dead rows.
pub const PAGE_ROWS: i64 = 50_000;

fn all_orders() -> String {
    format!(
        "SELECT {} FROM orders WHERE id >= $1 AND status <> 'cancelled' ORDER BY id LIMIT $2",
        Order::names()
    )
}

/// Selects a page of the orders that changed after the change `$1`. The page may exceed
/// [`PAGE_ROWS`], because all orders of a change must be on the same page.
fn changed_orders() -> String {
    format!(
        "SELECT {}, change_number
         FROM orders WHERE change_number > $1 AND change_number <= coalesce(
             (SELECT change_number FROM orders WHERE change_number > $1 ORDER BY change_number
              LIMIT 1 OFFSET $2 - 1), 9223372036854775807)
         ORDER BY id",
        Order::names()
    )
}

/// Sends all orders that are not cancelled, page by page. Returns the position of the last change
/// before the read, because an order that changes during the read may be sent in its old state.
async fn send_all(session: &Session, to: &OrderSender) -> Result<OrdersRead, StoreError> {
    let read = with_scan_connection(session, async |client, before| {
        let (query, mut from) = (all_orders(), Some(i64::MIN));
        while let Some(first) = from {
            let last = send_page(client, &query, "id", first, to).await?.1;
            from = last.and_then(|last| last.checked_add(1));
        }
        Ok(before)
    });
    let (before, last) = read.await?;
    Ok(OrdersRead::whole(before.orders, last.orders))
}

/// Sends one page of the orders that changed after the position `after`. The page may exceed
/// [`PAGE_ROWS`] (see `changed_orders`).
async fn send_changed(
    session: &Session,
    after: Position,
    to: &OrderSender,
) -> Result<OrdersRead, StoreError> {
    let read = with_scan_connection(session, async |client, before| {
        let (rows, last) =
            send_page(client, &changed_orders(), "change_number", after.number, to).await?;
        Ok(OrdersRead::page(after, before.orders, last, rows >= PAGE_ROWS))
    });
    Ok(read.await?.0)
}

/// Calls `read_rows` with the store's last changes. Returns the result of `read_rows`, and the last
/// changes after the read. Fails if the history of the store changes during the read. Uses a
/// separate connection, because a long read would delay other requests.
async fn with_scan_connection<T>(
    session: &Session,
    read_rows: impl AsyncFnOnce(&Client, LastChanges) -> Result<T, StoreError>,
) -> Result<(T, LastChanges), StoreError> {
    let connection = session.open_another(&SCANNER).await?;
    let last_changes = async || {
        let last_seen = session.state.replica.last_seen();
        let query = query_journal(&connection.client, &last_seen);
        let answer = with_time_limit(READ_LIMIT, query).await?;
        session.state.accept(|history, _, seen| answer.accept(history, seen))
    };
    let work = async {
        let result = read_rows(&connection.client, last_changes().await?).await?;
        // The second call of `last_changes` fails if the history changed during the read.
        Ok((result, last_changes().await?))
    };
    tokio::select! {
        result = work => result,
        _ = session.state.ended() => Err(unreachable_because("its session ended")),
    }
}

/// Sends the orders that one query returns: at most [`PAGE_ROWS`], or more if one change has many
/// orders. Returns the number of orders and the highest value in `column`.
async fn send_page(
    client: &Client,
    query: &str,
    column: &str,
    from: i64,
    to: &OrderSender,
) -> Result<(i64, Option<i64>), StoreError> {
    let rows = client.query_typed_raw(query, [(from, Type::INT8), (PAGE_ROWS, Type::INT8)]);
    let rows = with_time_limit(LONG_READ_LIMIT, async { rows.await.map_err(read_error) }).await?;
    pin_mut!(rows);
    let (mut count, mut highest, mut orders) = (0, None, Vec::new());
    let mut index = None;
    while let Some(row) = with_time_limit(READ_LIMIT, async { Ok(rows.next().await) }).await? {
        let row = row.map_err(read_error)?;
        let index = match index {
            Some(index) => index,
            None => *index.insert(column_index(row.columns(), column)?),
        };
        (count, highest) = (count + 1, highest.max(Some(value::<i64>(&row, index)?)));
        orders.push(Order::read(&row, 0)?);
        if orders.len() == SENT_ORDERS {
            send(to, std::mem::take(&mut orders)).await?;
        }
    }
    send(to, orders).await?;
    Ok((count, highest))
}

async fn send(to: &OrderSender, orders: Vec<Order>) -> Result<(), StoreError> {
    to.send(orders).await.map_err(|_| unreachable_because("nothing takes the orders any more"))
}
