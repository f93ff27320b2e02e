//! Cancels a batch of orders in one transaction and one round trip.
//!
//! The transaction first takes the change lock, so that changes are committed in the order of their
//! numbers. It stores the batch's id with each order that it cancels. If the answer is lost, the
//! same batch is sent again, and recognises by this id the orders that it has already cancelled.

use crate::store::agreement::lease::WaitIsOver;
use crate::store::postgres::error::{
    postgres_error, require_one_row, unreachable_because, write_error,
};
use crate::store::postgres::journal::JournalChange;
use crate::store::postgres::rows::{parse_value, value};
use crate::store::postgres::session::Session;
use crate::store::postgres::session::opener::Current;
use crate::store::postgres::session::prepared::BatchStatements;
use crate::store::postgres::session::replica::Replica;
use crate::store::postgres::timeouts::{
    BATCH_EXECUTION_TIME, LOCK_WAIT, MIN_BATCH_TIME, RETRY_PAUSE, SESSION_WAIT,
};
use crate::store::rules::not_cancelled_outcome;
use crate::store::{CancelOutcome, Cancellation, CancelledBatch, Position, Status, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::types::utc_text;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// The value that the statement `update` returns instead of a status for an order that this batch
/// has cancelled.
const OWN: &str = "own";

/// The role of a cancellation in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Too little time is left to carry out this cancellation.
    Expired,
    /// The first cancellation of this order in the batch. It gets the outcome of the update.
    First(i64),
    /// A further cancellation of this order. After the first cancellation the order is no longer
    /// pending.
    Duplicate(i64),
}

/// Cancellations that are carried out together.
pub struct Batch {
    id: String,
    orders: Vec<i64>,
    keys: Vec<Arc<str>>,
    times: Vec<String>,
    /// The earliest deadline of the requests, because no cancellation may be carried out after its
    /// request was answered. `None` if all have expired.
    pub deadline: Option<Instant>,
    /// One slot for each cancellation.
    slots: Vec<Slot>,
}

impl Batch {
    /// Collects the cancellations that still have enough time left.
    pub fn new(cancellations: &[Cancellation], now: Instant) -> Batch {
        let mut batch = Batch {
            id: format!("{:016x}", rand::random::<u64>()),
            orders: Vec::new(),
            keys: Vec::new(),
            times: Vec::new(),
            deadline: None,
            slots: Vec::with_capacity(cancellations.len()),
        };
        let mut order_ids = HashSet::with_capacity(cancellations.len());
        for Cancellation { order_id, key_id, at, deadline } in cancellations {
            if time_to_send(*deadline, now).is_none() {
                batch.slots.push(Slot::Expired);
                continue;
            }
            batch.deadline = Some(batch.deadline.map_or(*deadline, |first| first.min(*deadline)));
            if !order_ids.insert(*order_id) {
                batch.slots.push(Slot::Duplicate(*order_id));
                continue;
            }
            batch.slots.push(Slot::First(*order_id));
            batch.orders.push(*order_id);
            batch.keys.push(Arc::clone(key_id));
            batch.times.push(utc_text(at));
        }
        batch
    }

    /// Carries out the batch within this time, unless an earlier attempt has done so. After an
    /// error the batch may have been carried out. PostgreSQL limits the waits for locks, because a
    /// late answer would be treated as a lost connection.
    pub async fn carry_out(
        &self,
        session: &Session,
        replica: &Replica,
        limit: Duration,
        _: &WaitIsOver,
    ) -> Result<CancelledBatch, StoreError> {
        let (client, link) = (&session.writer.client, &session.writer.link);
        let BatchStatements { begin, limit_lock_waits, lock, update, commit } =
            &session.batch_statements;
        let lock_wait = lock_wait(limit).map(|wait| wait.as_millis().to_string());
        let keys: Vec<&str> = self.keys.iter().map(|key| &**key).collect();
        let last_seen = replica.last_seen();
        let (number, id) = last_seen.last().map(|change| (change.number, &*change.id)).unzip();
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&self.orders, &keys, &self.times, &self.id, &number, &id];
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
        // Check each statement: if one of them failed, COMMIT rolls back, but the client library
        // does not report this.
        let locked = locked.map_err(write_error)?;
        let updated = updated.map_err(write_error)?;
        committed.map_err(write_error)?;
        link.require_confirmed_since(unconfirmed)?;
        require_one_row("change_lock", locked.len())?;
        let positions = match updated.first() {
            Some(row) => positions(session, replica, row)?,
            None => None,
        };
        let mut states = HashMap::with_capacity(self.orders.len());
        for row in &updated {
            match value(row, 1)? {
                Some(OWN) => drop(states.insert(value(row, 0)?, (Status::Cancelled, true))),
                Some(_) => drop(states.insert(value(row, 0)?, (parse_value(row, 1)?, false))),
                None => {}
            }
        }
        Ok(CancelledBatch { outcomes: self.outcomes(&states), positions })
    }

    /// Derives the outcome of each request from the orders' final states: the status of each order,
    /// and whether this batch cancelled it.
    fn outcomes(&self, states: &HashMap<i64, (Status, bool)>) -> Vec<Option<CancelOutcome>> {
        let status = |id: &i64| states.get(id).map(|(status, _)| *status);
        let outcome = |slot: &Slot| match slot {
            Slot::Expired => None,
            Slot::First(id) if states.get(id).is_some_and(|(_, is_own)| *is_own) => {
                Some(CancelOutcome::Cancelled)
            }
            Slot::First(id) | Slot::Duplicate(id) => Some(not_cancelled_outcome(status(id))),
        };
        self.slots.iter().map(outcome).collect()
    }

    /// Returns the outcomes of a batch whose cancellations have all expired.
    pub fn expired(&self) -> Vec<Option<CancelOutcome>> {
        vec![None; self.slots.len()]
    }
}

/// Reads the positions of orders before and after the batch from a row of `update`. Returns `None` if
/// the batch cancelled nothing.
fn positions(
    session: &Session,
    replica: &Replica,
    row: &Row,
) -> Result<Option<(Position, Position)>, StoreError> {
    let Some(number) = value(row, 3)? else { return Ok(None) };
    // If the journal lacks the last seen change, `accept` fails and the session ends. The next
    // attempt, in another history, finds that the batch was carried out.
    let change = JournalChange { number, id: value(row, 4)? };
    let (history, is_known) = (session.history, value(row, 5)?);
    session.with_seen(replica, |seen| seen.accept(history, change, is_known))?;
    session.set_confirmed(number);
    let before = Position { history, number: value(row, 2)? };
    Ok(Some((before, Position { history, number })))
}

/// Returns the time left for a batch; `None` if too little is left to send the batch.
pub fn time_to_send(deadline: Instant, now: Instant) -> Option<Duration> {
    let remaining = deadline.saturating_duration_since(now);
    (remaining >= MIN_BATCH_TIME).then_some(remaining)
}

/// Returns how long a batch with this time left waits for each of its two locks; `None` if the
/// session's `lock_timeout` applies.
fn lock_wait(limit: Duration) -> Option<Duration> {
    let wait = limit.saturating_sub(BATCH_EXECUTION_TIME) / 2;
    // At least 1 ms, because 0 means no limit to PostgreSQL.
    (wait < LOCK_WAIT).then_some(wait.max(Duration::from_millis(1)))
}

/// Waits for an open session, at most until the time `until`.
async fn wait_for_session(
    sessions: &watch::Receiver<Current>,
    until: Instant,
) -> Result<Arc<Session>, StoreError> {
    let mut sessions = sessions.clone();
    let is_open = |current: &Current| {
        current.as_ref().is_ok_and(|session| session.ending.require_open().is_ok())
    };
    if let Ok(Ok(current)) = timeout_at(until.into(), sessions.wait_for(is_open)).await {
        return current.clone().map_err(|why| unreachable_because(&*why));
    }
    let why = sessions.borrow().as_ref().err().cloned();
    Err(unreachable_because(why.as_deref().unwrap_or("its session ended")))
}

/// Carries a batch out, with retries in further sessions until the deadline. All attempts share the
/// batch's id, so that it is carried out only once.
pub async fn carry_out(
    sessions: &watch::Receiver<Current>,
    replica: &Replica,
    batch: &Batch,
    deadline: Instant,
) -> Result<CancelledBatch, StoreError> {
    let mut waits_until = deadline.min(Instant::now() + SESSION_WAIT);
    loop {
        let session = wait_for_session(sessions, waits_until).await?;
        let wait_is_over = match session.wait.over(Instant::now()) {
            Ok(wait_is_over) => wait_is_over,
            Err(until) if Instant::now() < deadline => {
                sleep_until(until.min(deadline).into()).await;
                continue;
            }
            Err(_) => return Err(too_late()),
        };
        let writing = session.writing.lock().await;
        let limit = time_to_send(deadline, Instant::now()).ok_or_else(too_late)?;
        let attempt = batch.carry_out(&session, replica, limit, &wait_is_over);
        let error = match session.answer(limit, attempt).await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        drop(writing);
        // The batch may have been carried out, so from now on retry until its deadline.
        waits_until = deadline;
        let may_succeed = session.ending.require_open().is_err() || is_transient(&error);
        if !may_succeed || time_to_send(deadline, Instant::now() + RETRY_PAUSE).is_none() {
            return Err(error);
        }
        sleep(RETRY_PAUSE).await;
    }
}

fn too_late() -> StoreError {
    unreachable_because("too little time was left for the batch")
}

/// True if the statement failed while waiting for a lock, so that a retry may succeed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use std::time::Duration;

    #[test]
    fn only_the_first_request_for_an_order_gets_the_outcome_of_the_update() {
        let now = Instant::now();
        let cancel = |order_id: i64, remaining: Duration| Cancellation {
            order_id,
            key_id: Arc::from(format!("key_{order_id}")),
            at: DateTime::UNIX_EPOCH,
            deadline: now + remaining,
        };
        let (soon, over) = (Duration::from_secs(1), Duration::ZERO);
        let requests = [(7, soon), (8, soon), (7, soon), (9, over), (8, soon), (6, soon)]
            .map(|(order_id, remaining)| cancel(order_id, remaining));
        let batch = Batch::new(&requests, now);
        assert_eq!(batch.orders, [7, 8, 6]);
        assert_eq!((batch.keys.len(), batch.times.len()), (3, 3));
        // The order 8 had shipped, and 6 was cancelled by another batch.
        let states = [
            (7, (Status::Cancelled, true)),
            (8, (Status::Shipped, false)),
            (6, (Status::Cancelled, false)),
        ];
        let [cancelled, shipped, not_found] =
            [CancelOutcome::Cancelled, CancelOutcome::AlreadyShipped, CancelOutcome::NotFound]
                .map(Some);
        let expected = [cancelled, shipped, not_found, None, shipped, not_found];
        // A repeated attempt finds the same states.
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
        };
        let batch = Batch::new(&[4_000, 499, 500, 2_000].map(with_deadline), now);
        assert_eq!(batch.deadline, Some(now + Duration::from_millis(500)));
        let (first, duplicate) = (Slot::First(1), Slot::Duplicate(1));
        assert_eq!(batch.slots, [first, Slot::Expired, duplicate, duplicate]);
    }

    /// After a promotion a batch waits until older leases have expired. If the wait lasts almost
    /// until the batch's deadline, the batch is not sent, because its late answer would end the new
    /// session.
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
