//! Sends freshness queries, which find out whether the list in memory is current (see `orders.rs`).
//! A freshness query is one statement, so everything in its result comes from one snapshot of the
//! database.
//!
//! Several list requests can wait for one query, and all of them use its result. At most
//! [`MAX_LIST_QUERIES`] queries are in flight.

use super::state::SessionState;
use crate::clock::BootInstant;
use crate::log::ErrorChain;
use crate::store::agreement::lease::WaitIsOver;
use crate::store::agreement::shared_queries::{SharedQueries, next_from};
use crate::store::postgres::connecting::Connection;
use crate::store::postgres::error::{read_error, unreachable_because};
use crate::store::postgres::gathering::gather_requests;
use crate::store::postgres::journal::{ANSWER_COLUMNS, parse_answer, select_last_and_known};
use crate::store::postgres::rows::{column_index, value};
use crate::store::postgres::timeouts::{MAX_LIST_QUERIES, READ_LIMIT};
use crate::store::row::StoredRow;
use crate::store::{
    ChangedOrders, FreshnessAnswer, FreshnessReport, LARGEST_BATCH, LastChanges, Order, Position,
    StoreError,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::sleep_until;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

/// The maximum number of queries in flight if each query's commit waits for the standby.
const MAX_COMMITTING_QUERIES: usize = 1;

/// The maximum number of changed orders in an answer. Equals the size of the largest batch of
/// cancellations. If more orders have changed, a separate read gets all of the changed orders.
const MAX_CHANGED_ORDERS: i64 = LARGEST_BATCH as i64;

/// The column of the freshness query that is true if the query locked this replica's row.
const IS_LOCKED: &str = "is_locked";

/// Returns the statement of a freshness query. The statement has four results:
///
/// - the last change
/// - whether the journal has the last change that this server has seen (number `$1`, id `$2`)
/// - the orders that changed after the change `$3`, or no orders if `$3` is NULL
/// - whether the statement locked the row of the replica `$4`
///
/// If the result has more than [`MAX_CHANGED_ORDERS`] orders, it may lack further changed orders.
///
/// If `commits` is true, the statement locks the replica's row. The lock writes to the WAL, so the
/// statement's commit waits for the standby. The lock does not conflict with the heartbeat's lock.
fn select(commits: bool) -> String {
    let lock = if commits { "FOR KEY SHARE" } else { "LIMIT 0" };
    format!(
        "
    WITH locked AS (SELECT FROM replicas WHERE id = $4 {lock})
    SELECT last.*, changed.*, EXISTS (SELECT FROM locked) AS {IS_LOCKED}
    FROM ({}) last
    LEFT JOIN LATERAL (
        SELECT {} FROM orders
        WHERE change_number > $3 ORDER BY change_number LIMIT {MAX_CHANGED_ORDERS} + 1) changed ON true",
        select_last_and_known(),
        Order::names()
    )
}

/// The freshness query that is sent next. List requests that arrive before the query is sent share
/// its answer.
#[derive(Default)]
struct NextQuery {
    answer: watch::Sender<FreshnessAnswer>,
    /// The position from the latest call of [`ListReader::join`] that passed a position. `None` if
    /// no call passed one.
    list: Option<Position>,
}

/// Lets list requests wait for freshness queries, which the task [`ListReader::answer_requests`]
/// sends.
///
/// The queries share a connection with [`KeyReader`](super::key_reader::KeyReader). A statement
/// that waits for a lock delays the later statements on this connection. So `FRESHNESS` in
/// [`timeouts`](crate::store::postgres::timeouts) limits each wait for a lock.
pub struct ListReader {
    /// `None` once the session has ended.
    queries: Mutex<Option<SharedQueries<NextQuery>>>,
    joined: Notify,
    state: Arc<SessionState>,
}

impl ListReader {
    pub fn new(state: Arc<SessionState>) -> ListReader {
        let queries = Mutex::new(Some(SharedQueries::new(NextQuery::default())));
        ListReader { queries, joined: Notify::new(), state }
    }

    /// Joins a list request to the next query. `list` is the last change that the list in memory
    /// reflects. Returns a receiver of the query's result, or `None` if the session has ended.
    pub fn join(&self, list: Option<Position>) -> Option<watch::Receiver<FreshnessAnswer>> {
        let mut queries = self.queries.lock();
        let next = queries.as_mut()?.join();
        next.list = list.or(next.list);
        let answer = next.answer.subscribe();
        drop(queries);
        self.joined.notify_one();
        Some(answer)
    }

    /// Waits until a list request has joined the next query and fewer than `most` queries are in
    /// flight. Then returns the query, which the caller must send.
    async fn next_due(&self, most: usize) -> NextQuery {
        loop {
            if self.waiting(most) > 0 {
                gather_requests(|| self.waiting(most)).await;
                if let Some(queries) = &mut *self.queries.lock() {
                    return queries.send(NextQuery::default());
                }
            }
            self.joined.notified().await;
        }
    }

    /// Returns the number of list requests that wait for the next query, or 0 if the query is not
    /// due. A due query counts as at least 1, so that the query is sent even if all clients have
    /// disconnected.
    fn waiting(&self, most: usize) -> usize {
        let queries = self.queries.lock();
        let due = queries.as_ref().and_then(|queries| queries.due(most));
        due.map_or(0, |next| next.answer.receiver_count().max(1))
    }

    fn record_answer(&self) {
        if let Some(queries) = &mut *self.queries.lock() {
            queries.record_answer();
        }
    }

    /// Must be called when the session has ended. Waiting list requests then get an error. Requests
    /// that join later get an error too.
    pub fn close(&self) {
        drop(self.queries.lock().take());
    }

    /// Sends freshness queries for the list requests until the session ends. If `commits` is true,
    /// each query also locks the row of this replica ([`select`]). The lock writes to the WAL, so
    /// the query fails unless the synchronous standby confirms the query's commit.
    pub async fn answer_requests(&self, connection: &Connection, commits: bool) {
        if let Err(error) = self.answer_until_ended(connection, commits).await {
            self.state.end(&ErrorChain(&error));
        }
    }

    async fn answer_until_ended(
        &self,
        connection: &Connection,
        commits: bool,
    ) -> Result<(), StoreError> {
        let select = connection.client.prepare(&select(commits)).await.map_err(read_error)?;
        let mut ended = pin!(self.state.ended());
        // The primary may have been replaced before this session was opened. Another replica may
        // still have a valid lease on the old primary, and list an order that is cancelled on the
        // new primary. So answer no list request until every such lease has expired.
        let wait_is_over = loop {
            match self.state.wait.over(Instant::now()) {
                Ok(wait_is_over) => break wait_is_over,
                Err(until) => tokio::select! {
                    () = sleep_until(until.into()) => {}
                    _ = &mut ended => return Ok(()),
                },
            }
        };
        let most = if commits { MAX_COMMITTING_QUERIES } else { MAX_LIST_QUERIES };
        let mut in_flight = FuturesUnordered::new();
        let (mut sent, mut round_trip) = (Instant::now(), Duration::ZERO);
        loop {
            let not_before = (!in_flight.is_empty()).then(|| next_from(sent, round_trip, most));
            let due = async {
                if let Some(time) = not_before {
                    sleep_until(time.into()).await;
                }
                self.next_due(most).await
            };
            tokio::select! {
                _ = &mut ended => return Ok(()),
                next = due => {
                    sent = Instant::now();
                    let query = self.query(connection, &select, next.list, commits, &wait_is_over);
                    let answer = self.state.answer(READ_LIMIT, query);
                    in_flight.push(async move {
                        // Unlike `send`, `send_replace` does not fail if no request waits any
                        // longer.
                        next.answer.send_replace(Some(answer.await.map_err(Arc::new)));
                        sent.elapsed()
                    });
                }
                Some(elapsed) = in_flight.next() => {
                    round_trip = elapsed;
                    self.record_answer();
                }
            }
        }
    }

    async fn query(
        &self,
        Connection { client, link, .. }: &Connection,
        select: &Statement,
        list: Option<Position>,
        commits: bool,
        _: &WaitIsOver,
    ) -> Result<FreshnessReport, StoreError> {
        let state = &self.state;
        let last_seen = state.replica.last_seen();
        let (number, id) = last_seen.last().map(|change| (change.number, &*change.id)).unzip();
        // Select no rows for a list of an earlier history, because that list is read again as a
        // whole.
        let list = list.filter(|list| list.history == state.history);
        let after = list.map(|list| list.number);
        let parameters: [&(dyn ToSql + Sync); 4] = [&number, &id, &after, &state.replica.id()];
        let unconfirmed = link.unconfirmed();
        // The call returns only after the statement's commit, so `link` then shows whether the
        // commit waited for the standby.
        let rows = client.query(select, &parameters).await.map_err(read_error)?;
        if commits {
            link.require_confirmed_since(unconfirmed)?;
            // If this replica's row is missing, the statement locks no row and writes nothing. Its
            // commit then does not wait for the standby, so the answer may contain unconfirmed
            // changes. Fail in this case.
            let is_locked = column_index(select.columns(), IS_LOCKED)?;
            if !rows.iter().all(|row| value(row, is_locked).unwrap_or_default()) {
                return Err(unreachable_because("the row of this replica was removed"));
            }
        }
        let answer = parse_answer(&rows)?;
        // Accept the answer only under a valid lease, because a replaced primary may also answer.
        let last_changes = state.accept(|history, lease, seen| {
            answer.accept_under_lease(history, lease, BootInstant::now(), seen)
        })?;
        let changes = read_changes(&rows, list, last_changes)?;
        Ok(FreshnessReport { last_changes, changes })
    }
}

/// Returns the orders that changed after the position `list`. Returns `None` if `list` is `None` or
/// current, or if more than [`MAX_CHANGED_ORDERS`] orders changed.
fn read_changes(
    rows: &[Row],
    list: Option<Position>,
    last_changes: LastChanges,
) -> Result<Option<Arc<ChangedOrders>>, StoreError> {
    let Some(after) = list.filter(|_| rows.len() as i64 <= MAX_CHANGED_ORDERS) else {
        return Ok(None);
    };
    if !last_changes.orders.has_more_than(after) {
        return Ok(None);
    }
    let mut orders = Vec::with_capacity(rows.len());
    for row in rows {
        // If no order has changed, the result has one row, in which the columns of the order are
        // NULL.
        if value::<Option<i64>>(row, ANSWER_COLUMNS)?.is_some() {
            orders.push(Order::read(row, ANSWER_COLUMNS)?);
        }
    }
    orders.sort_unstable_by_key(|order| order.id);
    Ok(Some(Arc::new(ChangedOrders { after, orders })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::agreement::lease::OldLeaseWait;

    #[tokio::test]
    async fn waiting_and_later_list_requests_fail_when_the_session_ends() {
        let wait = OldLeaseWait::for_session(Instant::now(), &(), None);
        let lists = ListReader::new(Arc::new(SessionState::new(0, wait, Arc::default())));
        let mut waiting = lists.join(None).unwrap();
        lists.close();
        assert!(waiting.wait_for(Option::is_some).await.is_err());
        assert!(lists.join(None).is_none());
    }
}
