//! Cancels a batch of orders in PostgreSQL, and learns the outcome even if PostgreSQL's answer to
//! COMMIT is lost.
//!
//! Each attempt to execute a batch is one transaction in one round trip. BEGIN, the change lock,
//! the update and COMMIT are sent without waiting for answers in between. If the connection breaks
//! before the answers arrive, nobody knows whether the transaction was committed. The batch must
//! not fail in this case. Otherwise its callers would get a 503 at every failover, although their
//! orders may be cancelled. Executing the same transaction again is not enough. The second attempt
//! would find the orders cancelled, and callers whose orders the first attempt cancelled would get
//! a 404.
//!
//! So a [`Batch`] has a random id, and the update stores the id in each order that it cancels, in
//! `orders.cancelled_in`. All attempts to execute the batch use this id. If an attempt finds an
//! order with this id, an earlier attempt has cancelled the order. Of the requests for this order
//! in the batch, one gets the outcome `Cancelled`, and the others get `NotFound`.
//!
//! ```mermaid
//! sequenceDiagram
//!     Client->>Server: DELETE order 7
//!     Server->>P1: BEGIN, lock, update with batch id b, COMMIT
//!     P1->>P2: the commit, which P2 writes to disk
//!     P1--xServer: the answer is lost, so the session ends
//!     Note over P2: promoted
//!     Server->>P2: opens a session, waits 1 s (see agreement/lease.rs)
//!     Server->>P2: BEGIN, lock, update with batch id b, COMMIT
//!     P2-->>Server: order 7 was cancelled in batch b
//!     Server-->>Client: 204
//! ```
//!
//! If P2 does not have the commit, order 7 is still pending on P2, and the second attempt cancels
//! it. If another batch has cancelled the order by then, the client gets a 404. If the order has
//! shipped, the client gets a 409.
//!
//! The server begins no attempt later than half a second ([`MIN_BATCH_TIME`]) before the earliest
//! deadline in the batch. If no attempt succeeds, the client gets a 503 and sends the request
//! again. The retry is in a new batch with a new id. If the first batch was committed, the retry
//! gets a 404. The client takes the 404 as success, as the API's document says. Otherwise the retry
//! gets what a first request would get.
//!
//! What is always true:
//!
//! - Attempts on one primary do not interleave, because each takes the change lock first. Under
//!   [READ COMMITTED], an update then sees the result of the attempt before it.
//! - A 204 is durable, even if the last attempt changed nothing. The change lock is a [row lock],
//!   which PostgreSQL writes to the WAL. So COMMIT waits for the standby, which then has all
//!   earlier commits too. If this wait is cancelled, COMMIT succeeds with a warning, and the batch
//!   is treated as if no answer had arrived (`Link::require_confirmed_since`).
//! - If an earlier attempt cancelled the orders, the last attempt does not know the position of
//!   that change. So the list gets no pending removals, and learns of the change from the next
//!   freshness query.
//!
//! What happens when something fails:
//!
//! - A lock is not free in time: PostgreSQL ends the wait before the deadline ([`lock_wait`]). If
//!   enough time is left, the batch is sent again in the same session (`PostgresStore::execute`).
//!   PostgreSQL must end the wait, because a late answer ends the session, which lists use too.
//! - No session is open for the first attempt: the batch waits at most a second (`SESSION_WAIT`).
//!   Then its clients get a 503, and nothing was cancelled. If a session is open but still waits
//!   for old leases, the batch waits as long as an attempt is possible.
//! - The session ends after an attempt was sent: the batch waits for the next session, because only
//!   another attempt can find out whether this one was committed.
//! - PostgreSQL falls silent, but the connections stay open: a heartbeat without an answer for 2 s
//!   ends the session, so there is time for another attempt.
//! - A backend of PostgreSQL is suspended: it may execute an attempt after the client got the 503.
//!   The order is then cancelled, as is possible after any 503.
//!
//! [READ COMMITTED]: https://www.postgresql.org/docs/current/transaction-iso.html#XACT-READ-COMMITTED
//! [row lock]: https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS

use super::heartbeat::deregister;
use super::state::SessionState;
use crate::store::agreement::lease::WaitIsOver;
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{require_one_row, unreachable_because, write_error};
use crate::store::postgres::journal::{CHANGE_ID, JournalChange, LOCK_CHANGES};
use crate::store::postgres::rows::value;
use crate::store::postgres::timeouts::{BATCH_EXECUTION_TIME, LOCK_WAIT, MIN_BATCH_TIME};
use crate::store::row::Cursor;
use crate::store::rules::not_cancelled_outcome;
use crate::store::{
    CancelOutcome, Cancellation, CancelledBatch, NotExecuted, Position, Status, StoreError,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::types::utc_text;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

/// Limits lock waits within the transaction. `SET LOCAL` would do the same, but it does not take
/// parameters.
const LIMIT_LOCK_WAITS: &str = "SELECT set_config('lock_timeout', $1, true)";

/// The state that [`update_orders`] selects for an order that the batch itself has cancelled.
const OWN: &str = "own";

/// Returns a statement that cancels the orders of a batch and selects the resulting state of each
/// order. The statement cancels only pending orders that have not changed since `unchanged_since`.
/// The state is [`OWN`] if the batch cancelled the order, even in an earlier attempt.
///
/// The transaction takes the change lock before this statement. With READ COMMITTED, the statement
/// then sees every change that was committed before the lock was taken.
fn update_orders() -> String {
    format!(
        "
    WITH last AS (SELECT change_number, orders, keys FROM changes ORDER BY change_number DESC LIMIT 1),
    cancelled AS (
        UPDATE orders o
        SET status = 'cancelled', change_number = last.change_number + 1, cancelled_at = a.at,
            cancelled_by = a.key, cancelled_in = $5
        FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
            a (id, key, at, unchanged_since), last
        WHERE o.id = a.id AND o.status = 'pending' AND o.change_number <= a.unchanged_since
        RETURNING o.id),
    change AS (
        INSERT INTO changes (change_number, orders, keys)
        SELECT change_number + 1, change_number + 1, keys FROM last WHERE EXISTS (SELECT FROM cancelled)
        RETURNING change_number, {CHANGE_ID} AS id)
    SELECT a.id,
           CASE WHEN cancelled.id IS NULL THEN
               (SELECT CASE WHEN cancelled_in = $5 THEN 'own' ELSE status END
                FROM orders WHERE id = a.id)
           ELSE 'own' END,
           last.orders, change.change_number, change.id,
           EXISTS (SELECT FROM changes WHERE change_number = $6 AND {CHANGE_ID} = $7)
    FROM unnest($1::bigint[]) a (id) LEFT JOIN cancelled ON cancelled.id = a.id, last
    LEFT JOIN change ON true"
    )
}

type Outcome = Result<CancelOutcome, NotExecuted>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Too little time was left to execute this cancellation.
    Expired,
    /// The batch sends the cancellation of the order with this id. The update decides the outcome.
    Sent(i64),
    /// Not sent, because the batch already has a cancellation of this order. The outcome follows
    /// from the order's state after the update.
    Duplicate(i64),
}

#[derive(Default)]
pub struct Batch {
    id: String,
    orders: Vec<i64>,
    keys: Vec<Arc<str>>,
    times: Vec<String>,
    unchanged_since: Vec<Option<Position>>,
    /// The earliest deadline in the batch; `None` if all cancellations have expired. No attempt may
    /// begin after the deadline, because by then a client may have received a 503.
    pub deadline: Option<Instant>,
    /// One slot for each cancellation passed to [`Batch::new`], in the same order.
    slots: Vec<Slot>,
}

impl Batch {
    /// Creates a batch with one cancellation for each order. Leaves out a cancellation if its
    /// deadline leaves too little time for the write.
    pub fn new(cancellations: &[Cancellation], now: Instant) -> Batch {
        let id = format!("{:016x}", rand::random::<u64>());
        let mut batch = Batch { id, ..Batch::default() };
        let mut slots = vec![Slot::Expired; cancellations.len()];
        let mut requests: Vec<_> = cancellations.iter().zip(&mut slots).collect();
        // A batch sends only one request for each order. Prefer a request without
        // `unchanged_since`, because it can succeed even if the order has changed.
        requests.sort_by_key(|(cancellation, _)| cancellation.unchanged_since.is_some());
        let mut order_ids = HashSet::with_capacity(cancellations.len());
        for (cancellation, slot) in requests {
            let Cancellation { order_id, key_id, at, deadline, unchanged_since } = cancellation;
            if time_to_send(*deadline, now).is_none() {
                continue;
            }
            batch.deadline = Some(batch.deadline.map_or(*deadline, |first| first.min(*deadline)));
            if !order_ids.insert(*order_id) {
                *slot = Slot::Duplicate(*order_id);
                continue;
            }
            *slot = Slot::Sent(*order_id);
            batch.orders.push(*order_id);
            batch.keys.push(Arc::clone(key_id));
            batch.times.push(utc_text(at));
            batch.unchanged_since.push(*unchanged_since);
        }
        batch.slots = slots;
        batch
    }

    /// Derives the outcome of each request from the orders' final states. In `states`, `true` means
    /// that this batch cancelled the order.
    fn outcomes(&self, states: &HashMap<i64, (Status, bool)>) -> Vec<Outcome> {
        let status = |id: &i64| states.get(id).map(|(status, _)| *status);
        let outcome = |slot: &Slot| match slot {
            Slot::Expired => Err(NotExecuted::Expired),
            Slot::Sent(id) if states.get(id).is_some_and(|(_, is_own)| *is_own) => {
                Ok(CancelOutcome::Cancelled)
            }
            Slot::Sent(id) | Slot::Duplicate(id) => not_cancelled_outcome(status(id)),
        };
        self.slots.iter().map(outcome).collect()
    }

    pub fn expired(&self) -> Vec<Outcome> {
        vec![Err(NotExecuted::Expired); self.slots.len()]
    }

    /// Returns a bound for each order of the batch. The order is cancelled only if its row's change
    /// number is at most the bound. If `unchanged_since` has another history, the bound excludes
    /// the order, because numbers of two histories cannot be compared.
    fn highest_numbers(&self, history: u64) -> Vec<i64> {
        let highest = |since: &Option<Position>| match since {
            None => i64::MAX,
            Some(position) if position.history == history => position.number,
            Some(_) => i64::MIN,
        };
        self.unchanged_since.iter().map(highest).collect()
    }
}

/// Cancels orders. Sends the statements of a batch together, without waiting for replies. The
/// session prepares the statements when it opens, because each preparation takes a round trip.
pub struct BatchWriter {
    connection: Arc<Connection>,
    begin: Statement,
    /// Sets the transaction's `lock_timeout`.
    limit_lock_waits: Statement,
    lock: Statement,
    /// Cancels the pending orders of the batch, and returns each order's state (see
    /// `update_orders`). Parameters 1 to 4 are arrays with one element per order. Parameter 5 is
    /// the batch's id. Parameters 6 and 7 are the change number and the id of the last change that
    /// this server has seen.
    update: Statement,
    commit: Statement,
    /// Locked while a batch uses the connection, so that the statements of two batches do not mix.
    writing: Mutex<()>,
    state: Arc<SessionState>,
}

impl BatchWriter {
    pub async fn prepare(
        connection: Arc<Connection>,
        state: Arc<SessionState>,
    ) -> Result<BatchWriter, Error> {
        let client = &connection.client;
        Ok(BatchWriter {
            begin: client.prepare("BEGIN").await?,
            limit_lock_waits: client.prepare(LIMIT_LOCK_WAITS).await?,
            lock: client.prepare(LOCK_CHANGES).await?,
            update: client.prepare(&update_orders()).await?,
            commit: client.prepare("COMMIT").await?,
            writing: Mutex::default(),
            connection,
            state,
        })
    }

    /// Executes the batch, unless an earlier attempt has done so. Waits for the answer until the
    /// deadline. After an error the batch may have been executed.
    pub async fn execute(
        &self,
        batch: &Batch,
        deadline: Instant,
        _: &WaitIsOver,
    ) -> Result<CancelledBatch, StoreError> {
        let _writing = self.writing.lock().await;
        let limit = time_to_send(deadline, Instant::now()).ok_or_else(too_late)?;
        self.state.answer(limit, self.send(batch, limit)).await
    }

    /// Sends the batch's transaction. The waits for both locks together must be shorter than
    /// `limit`, because the connection counts as lost after `limit`.
    async fn send(&self, batch: &Batch, limit: Duration) -> Result<CancelledBatch, StoreError> {
        let BatchWriter { begin, limit_lock_waits, lock, update, commit, .. } = self;
        let Connection { client, link, .. } = &*self.connection;
        let lock_wait = lock_wait(limit).map(|wait| wait.as_millis().to_string());
        let keys: Vec<&str> = batch.keys.iter().map(|key| &**key).collect();
        let last_seen = self.state.replica.last_seen();
        let (number, id) = last_seen.last().map(|change| (change.number, &*change.id)).unzip();
        let unchanged_since = batch.highest_numbers(self.state.history);
        let parameters: [&(dyn ToSql + Sync); 7] =
            [&batch.orders, &keys, &batch.times, &unchanged_since, &batch.id, &number, &id];
        let unconfirmed = link.unconfirmed();
        let limit_lock_waits = async {
            match &lock_wait {
                Some(wait) => client.query(limit_lock_waits, &[wait]).await.map(drop),
                None => Ok(()),
            }
        };
        let (begun, limited, locked, updated, committed) = tokio::join!(
            client.execute(begin, &[]),
            limit_lock_waits,
            client.query(lock, &[]),
            client.query(update, &parameters),
            client.execute(commit, &[]),
        );
        begun.map_err(write_error)?;
        limited.map_err(write_error)?;
        // Check the result of each statement. If a statement failed, COMMIT rolls back, and the
        // client library does not report the rollback.
        let locked = locked.map_err(write_error)?;
        let updated = updated.map_err(write_error)?;
        committed.map_err(write_error)?;
        link.require_confirmed_since(unconfirmed)?;
        require_one_row("change_lock", locked.len())?;
        let positions = match updated.first() {
            Some(row) => self.accept_change(row)?,
            None => None,
        };
        let mut states = HashMap::with_capacity(batch.orders.len());
        for row in &updated {
            match value(row, 1)? {
                Some(OWN) => drop(states.insert(value(row, 0)?, (Status::Cancelled, true))),
                Some(_) => {
                    states.insert(value(row, 0)?, (Cursor::new(row, 1).parse()?, false));
                }
                None => {}
            }
        }
        Ok(CancelledBatch { outcomes: batch.outcomes(&states), positions })
    }

    /// Records the batch's change as seen and confirmed. Returns the positions before and after the
    /// batch, or `None` if this attempt cancelled nothing. `row` is a row that the statement
    /// `update` returned.
    fn accept_change(&self, row: &Row) -> Result<Option<(Position, Position)>, StoreError> {
        let Some(number) = value(row, 3)? else { return Ok(None) };
        // If `accept` fails, the session ends although this attempt was committed. The next attempt
        // finds orders that already have the batch's id, and reports those orders as cancelled by
        // the batch.
        let change = JournalChange { number, id: value(row, 4)? };
        let (history, is_known) = (self.state.history, value(row, 5)?);
        self.state.accept(|history, _, seen| seen.accept(history, change, is_known))?;
        self.state.set_confirmed(number);
        let before = Position { history, number: value(row, 2)? };
        Ok(Some((before, Position { history, number })))
    }

    /// Removes this server's row from `replicas` between two batches. The writer's connection has
    /// the longest `lock_timeout`, in case a heartbeat holds the row's lock.
    pub async fn deregister(&self, timeout: Duration) -> Result<(), StoreError> {
        let removal = async {
            let _writing = self.writing.lock().await;
            deregister(&self.connection.client, &self.state.replica).await
        };
        self.state.answer(timeout, removal).await
    }
}

pub fn time_to_send(deadline: Instant, now: Instant) -> Option<Duration> {
    let remaining = deadline.saturating_duration_since(now);
    (remaining >= MIN_BATCH_TIME).then_some(remaining)
}

/// Returns how long a batch may wait for each of its two locks. `limit` is the time that the batch
/// has left. Returns `None` if the connection's `lock_timeout`, [`LOCK_WAIT`], is short enough.
fn lock_wait(limit: Duration) -> Option<Duration> {
    let wait = limit.saturating_sub(BATCH_EXECUTION_TIME) / 2;
    // At least 1 ms, because PostgreSQL takes 0 for "no limit".
    (wait < LOCK_WAIT).then_some(wait.max(Duration::from_millis(1)))
}

pub fn too_late() -> StoreError {
    unreachable_because("too little time was left for the batch")
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    #[test]
    fn only_the_first_request_for_an_order_gets_the_outcome_of_the_update() {
        let now = Instant::now();
        let cancel = |order_id: i64, remaining: Duration| Cancellation {
            order_id,
            key_id: Arc::from(format!("key_{order_id}")),
            at: DateTime::UNIX_EPOCH,
            deadline: now + remaining,
            unchanged_since: None,
        };
        let (soon, over) = (Duration::from_secs(1), Duration::ZERO);
        let requests = [(7, soon), (8, soon), (7, soon), (9, over), (8, soon), (6, soon)]
            .map(|(order_id, remaining)| cancel(order_id, remaining));
        let batch = Batch::new(&requests, now);
        assert_eq!(batch.orders, [7, 8, 6]);
        assert_eq!((batch.keys.len(), batch.times.len()), (3, 3));
        // Order 8 had shipped, and order 6 was cancelled by another batch.
        let states = [
            (7, (Status::Cancelled, true)),
            (8, (Status::Shipped, false)),
            (6, (Status::Cancelled, false)),
        ];
        let [cancelled, shipped, not_found] =
            [CancelOutcome::Cancelled, CancelOutcome::AlreadyShipped, CancelOutcome::NotFound]
                .map(Ok);
        let expired = Err(NotExecuted::Expired);
        let expected = [cancelled, shipped, not_found, expired, shipped, not_found];
        // A batch that is sent again finds the same states, so its outcomes must not change.
        for _ in 0..2 {
            assert_eq!(batch.outcomes(&states.into_iter().collect()), expected);
        }
        assert_eq!(batch.outcomes(&HashMap::new())[..3], [not_found; 3]);
        assert_eq!(Batch::new(&requests[3..4], now).deadline, None);
        assert_ne!(batch.id, Batch::new(&requests, now).id);
    }

    #[test]
    fn a_batch_has_the_earliest_deadline_of_its_requests() {
        let now = Instant::now();
        let with_deadline = |millis| Cancellation {
            order_id: 1,
            key_id: Arc::from("key_1"),
            at: DateTime::UNIX_EPOCH,
            deadline: now + Duration::from_millis(millis),
            unchanged_since: None,
        };
        let batch = Batch::new(&[4_000, 499, 500, 2_000].map(with_deadline), now);
        assert_eq!(batch.deadline, Some(now + Duration::from_millis(500)));
        let (sent, duplicate) = (Slot::Sent(1), Slot::Duplicate(1));
        assert_eq!(batch.slots, [sent, Slot::Expired, duplicate, duplicate]);
    }

    /// A batch sends only one of several requests for an order. It must prefer a request without
    /// `unchanged_since`, because that request succeeds even if the order has changed.
    #[test]
    fn of_several_requests_for_an_order_one_without_a_condition_is_sent() {
        let now = Instant::now();
        let request = |order_id, key: &str, number: Option<i64>| Cancellation {
            order_id,
            key_id: Arc::from(key),
            at: DateTime::UNIX_EPOCH,
            deadline: now + Duration::from_secs(1),
            unchanged_since: number.map(|number| Position { history: 5, number }),
        };
        let requests = [
            request(7, "a", Some(3)),
            request(8, "b", Some(4)),
            request(7, "c", None),
            request(8, "d", Some(6)),
        ];
        let batch = Batch::new(&requests, now);
        assert_eq!(
            batch.slots,
            [Slot::Duplicate(7), Slot::Sent(8), Slot::Sent(7), Slot::Duplicate(8)]
        );
        assert_eq!(batch.keys.iter().map(|key| &**key).collect::<Vec<_>>(), ["c", "b"]);
        assert_eq!(batch.highest_numbers(5), [i64::MAX, 4]);
        // The argument is a history. The condition of order 8 has a change number of history 5,
        // which cannot be compared with numbers of history 6. So the bound is `i64::MIN`, which no
        // change number satisfies.
        assert_eq!(batch.highest_numbers(6), [i64::MAX, i64::MIN]);
        let states = [(7, (Status::Cancelled, true)), (8, (Status::Pending, false))];
        let changed = Err(NotExecuted::Changed);
        let expected =
            [Ok(CancelOutcome::NotFound), changed, Ok(CancelOutcome::Cancelled), changed];
        assert_eq!(batch.outcomes(&states.into_iter().collect()), expected);
    }

    /// If a batch is sent shortly before its deadline, the answer probably arrives late. A late
    /// answer ends the session.
    #[test]
    fn a_batch_is_not_sent_shortly_before_its_deadline() {
        let now = Instant::now();
        let remaining = |millis| time_to_send(now + Duration::from_millis(millis), now);
        assert_eq!([remaining(0), remaining(499)], [None; 2]);
        assert_eq!(remaining(500), Some(Duration::from_millis(500)));
        assert_eq!(time_to_send(now, now + Duration::from_secs(1)), None);
    }

    #[test]
    fn two_waits_for_locks_leave_time_to_execute_the_batch() {
        for millis in [0, 200, 500, 900, 4_000, 4_300, 5_000] {
            let limit = Duration::from_millis(millis);
            let wait = lock_wait(limit);
            assert_eq!(wait.is_none(), millis >= 4_300, "{limit:?}");
            let wait = wait.unwrap_or(LOCK_WAIT);
            assert!(
                !wait.is_zero()
                    && (limit < BATCH_EXECUTION_TIME || 2 * wait + BATCH_EXECUTION_TIME <= limit)
            );
        }
    }
}
