//! A batch of cancellations in one transaction, in one round trip.
//!
//! The transaction first takes the lock of changes, so that changes are committed in the order of
//! their numbers, and each order that it cancels keeps the batch's id: after a lost answer the same
//! batch is sent again, and finds what it did.

use crate::store::agreement::lease::WaitIsOver;
use crate::store::postgres::error::{
    postgres_error, require_one_row, unreachable_because, written,
};
use crate::store::postgres::journal::JournalChange;
use crate::store::postgres::rows::{parsed, value};
use crate::store::postgres::session::Session;
use crate::store::postgres::session::opener::Current;
use crate::store::postgres::session::prepared::BatchStatements;
use crate::store::postgres::session::replica::Replica;
use crate::store::postgres::timeouts::{
    ANSWER_TIME, LEAST_TIME, LOCK_WAIT, RETRY_PAUSE, SESSION_WAIT,
};
use crate::store::rules::not_cancelled;
use crate::store::{CancelOutcome, Cancellation, Status, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store_orders_api::types::utc_text;
use tokio::sync::watch;
use tokio::time::{sleep, sleep_until, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

/// What `update` tells instead of a status of an order that this batch has cancelled.
const OWN: &str = "own";

/// The part that a cancellation has in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// Too little time is left to carry it out.
    Expired,
    /// The first for this order: the outcome is its own.
    First(i64),
    /// Another one for this order, which then is no longer pending.
    Duplicate(i64),
}

/// Cancellations that are carried out together.
pub struct Batch {
    id: String,
    orders: Vec<i64>,
    keys: Vec<Arc<str>>,
    times: Vec<String>,
    /// The first of its requests': what was answered is not carried out later.
    pub deadline: Option<Instant>,
    /// For each cancellation.
    slots: Vec<Slot>,
}

/// What a batch did.
pub struct Done {
    /// For each cancellation; none if it had expired.
    pub outcomes: Vec<Option<CancelOutcome>>,
    /// The numbers of the last changes of orders before and after it; none if it cancelled none, or
    /// did so in an earlier attempt.
    pub change_numbers: Option<(i64, i64)>,
}

impl Batch {
    /// Those that have time left to be carried out.
    pub fn of(cancellations: &[Cancellation], now: Instant) -> Batch {
        let mut batch = Batch {
            id: format!("{:032x}", rand::random::<u128>()),
            orders: Vec::new(),
            keys: Vec::new(),
            times: Vec::new(),
            deadline: None,
            slots: Vec::with_capacity(cancellations.len()),
        };
        let mut known = HashSet::with_capacity(cancellations.len());
        for Cancellation { order_id, key_id, at, deadline } in cancellations {
            if time_to_send(*deadline, now).is_none() {
                batch.slots.push(Slot::Expired);
                continue;
            }
            batch.deadline = Some(batch.deadline.map_or(*deadline, |first| first.min(*deadline)));
            if !known.insert(*order_id) {
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

    /// Carries the batch out within this time, or finds that it was. An error means that it may
    /// have been. The server itself ends a wait for a lock in time: a late answer would be taken
    /// for a lost connection.
    pub async fn carry_out(
        &self,
        session: &Session,
        replica: &Replica,
        limit: Duration,
        _: &WaitIsOver,
    ) -> Result<Done, StoreError> {
        let (client, link) = (&session.writer.client, &session.writer.link);
        let BatchStatements { begin, limit_lock_waits, lock, update, commit } = &session.batch;
        let lock_wait = lock_wait(limit).map(|wait| wait.as_millis().to_string());
        let keys: Vec<&str> = self.keys.iter().map(|key| &**key).collect();
        let seen = replica.seen();
        let seen = seen.last().map(|seen| (seen.number, &*seen.id)).unzip();
        let all: [&(dyn ToSql + Sync); 6] =
            [&self.orders, &keys, &self.times, &self.id, &seen.0, &seen.1];
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
            client.query(update, &all),
            client.execute(commit, &[]),
        );
        begun.map_err(written)?;
        limited.map_err(written)?;
        // COMMIT's tag is not shown. It is ROLLBACK only where one of these was an error.
        let locked = locked.map_err(written)?;
        let updated = updated.map_err(written)?;
        committed.map_err(written)?;
        link.require_confirmed_since(unconfirmed)?;
        require_one_row("versions", locked.len())?;
        let change_numbers = match updated.first() {
            Some(row) => change_numbers(session, replica, row)?,
            None => None,
        };
        let mut found = HashMap::with_capacity(self.orders.len());
        for row in &updated {
            match value(row, 1)? {
                Some(OWN) => drop(found.insert(value(row, 0)?, (Status::Cancelled, true))),
                Some(_) => drop(found.insert(value(row, 0)?, (parsed(row, 1)?, false))),
                None => {}
            }
        }
        Ok(Done { outcomes: self.outcomes(&found), change_numbers })
    }

    /// The outcome of each request, derived from the orders' final state: the status of each order,
    /// and whether this batch cancelled it.
    fn outcomes(&self, found: &HashMap<i64, (Status, bool)>) -> Vec<Option<CancelOutcome>> {
        let status = |id: &i64| found.get(id).map(|(status, _)| *status);
        let outcome = |slot: &Slot| match slot {
            Slot::Expired => None,
            Slot::First(id) if found.get(id).is_some_and(|(_, is_own)| *is_own) => {
                Some(CancelOutcome::Cancelled)
            }
            Slot::First(id) | Slot::Duplicate(id) => Some(not_cancelled(status(id))),
        };
        self.slots.iter().map(outcome).collect()
    }

    /// What each has when all have expired.
    pub fn expired(&self) -> Vec<Option<CancelOutcome>> {
        vec![None; self.slots.len()]
    }
}

/// The last changes of orders before and after the batch that has this row; none if it cancelled
/// none.
fn change_numbers(
    session: &Session,
    replica: &Replica,
    row: &Row,
) -> Result<Option<(i64, i64)>, StoreError> {
    let Some(number) = value(row, 3)? else { return Ok(None) };
    // If what was seen is not known, the next attempt finds in another generation what this one
    // did.
    let change = JournalChange { number, id: value(row, 4)? };
    let before: i64 = value(row, 2)?;
    let is_known = value(row, 5)?;
    session.with_seen(replica, |seen| seen.accept(session.generation, change, is_known))?;
    session.set_confirmed(number);
    Ok(Some((before, number)))
}

/// How long the answer to a batch may take; `None` if it is too late to send it.
pub fn time_to_send(deadline: Instant, now: Instant) -> Option<Duration> {
    let left = deadline.saturating_duration_since(now);
    (left >= LEAST_TIME).then_some(left)
}

/// How long a batch that must end within this time waits for each of two locks; `None` for as
/// long as the session's setting says.
fn lock_wait(limit: Duration) -> Option<Duration> {
    let wait = limit.saturating_sub(ANSWER_TIME) / 2;
    // 0 is no limit at all.
    (wait < LOCK_WAIT).then_some(wait.max(Duration::from_millis(1)))
}

/// The session of the moment, which is waited for until then.
async fn awaited(
    sessions: &watch::Receiver<Current>,
    until: Instant,
) -> Result<Arc<Session>, StoreError> {
    let mut sessions = sessions.clone();
    let is_open = |current: &Current| {
        current.as_ref().is_ok_and(|session| session.ending.require_open().is_ok())
    };
    if let Ok(Ok(found)) = timeout_at(until.into(), sessions.wait_for(is_open)).await {
        return found.clone().map_err(|why| unreachable_because(&*why));
    }
    let why = sessions.borrow().as_ref().err().cloned();
    Err(unreachable_because(why.as_deref().unwrap_or("its session ended")))
}

/// Carries a batch out, in as many sessions as it takes until the deadline. Each attempt has
/// the batch's id, so that it is carried out once.
pub async fn carry_out(
    sessions: &watch::Receiver<Current>,
    replica: &Replica,
    batch: &Batch,
    deadline: Instant,
) -> Result<(Done, u64), StoreError> {
    let mut waits_until = deadline.min(Instant::now() + SESSION_WAIT);
    loop {
        let session = awaited(sessions, waits_until).await?;
        let wait_is_over = match session.wait.over(Instant::now()) {
            Ok(wait_is_over) => wait_is_over,
            Err(until) if Instant::now() < deadline => {
                sleep_until(until.min(deadline).into()).await;
                continue;
            }
            Err(_) => return Err(too_late()),
        };
        let writing = session.writing.lock().await;
        let left = time_to_send(deadline, Instant::now()).ok_or_else(too_late)?;
        let carried_out = batch.carry_out(&session, replica, left, &wait_is_over);
        let error = match session.answer(left, carried_out).await {
            Ok(done) => return Ok((done, session.generation)),
            Err(error) => error,
        };
        drop(writing);
        // From now on it may have been carried out.
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

/// Whether the statement may succeed when it is sent again: it waited for a lock.
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
    fn the_first_request_for_an_order_has_the_outcome() {
        let now = Instant::now();
        let of = |order_id: i64, left: Duration| Cancellation {
            order_id,
            key_id: Arc::from(format!("key_{order_id}")),
            at: DateTime::UNIX_EPOCH,
            deadline: now + left,
        };
        let (soon, over) = (Duration::from_secs(1), Duration::ZERO);
        let asked = [of(7, soon), of(8, soon), of(7, soon), of(9, over), of(8, soon), of(6, soon)];
        let batch = Batch::of(&asked, now);
        assert_eq!(batch.orders, [7, 8, 6]);
        assert_eq!((batch.keys.len(), batch.times.len()), (3, 3));
        // The order 8 had shipped, and 6 was cancelled by another batch.
        let found = [
            (7, (Status::Cancelled, true)),
            (8, (Status::Shipped, false)),
            (6, (Status::Cancelled, false)),
        ];
        let [cancelled, shipped, not_found] =
            [CancelOutcome::Cancelled, CancelOutcome::AlreadyShipped, CancelOutcome::NotFound]
                .map(Some);
        let expected = [cancelled, shipped, not_found, None, shipped, not_found];
        // Also when it is sent again, and finds what it did.
        for _ in 0..2 {
            assert_eq!(batch.outcomes(&found.into_iter().collect()), expected);
        }
        assert_eq!(batch.outcomes(&HashMap::new())[..3], [not_found; 3]);
        assert_eq!(Batch::of(&asked[3..4], now).deadline, None);
        assert_ne!(batch.id, Batch::of(&asked, now).id);
    }

    #[test]
    fn a_batch_ends_before_the_first_of_its_requests() {
        let now = Instant::now();
        let of = |millis| Cancellation {
            order_id: 1,
            key_id: Arc::from("key_1"),
            at: DateTime::UNIX_EPOCH,
            deadline: now + Duration::from_millis(millis),
        };
        let batch = Batch::of(&[of(4_000), of(499), of(500), of(2_000)], now);
        assert_eq!(batch.deadline, Some(now + Duration::from_millis(500)));
        let (first, duplicate) = (Slot::First(1), Slot::Duplicate(1));
        assert_eq!(batch.slots, [first, Slot::Expired, duplicate, duplicate]);
    }

    /// After a promotion a batch waits until older permissions have expired; if that takes until
    /// its deadline, it must not end the new session.
    #[test]
    fn a_batch_is_not_sent_shortly_before_its_deadline() {
        let now = Instant::now();
        let left = |millis| time_to_send(now + Duration::from_millis(millis), now);
        assert_eq!([left(0), left(499)], [None; 2]);
        assert_eq!(left(500), Some(Duration::from_millis(500)));
        assert_eq!(time_to_send(now, now + Duration::from_secs(1)), None);
    }

    #[test]
    fn two_waits_for_locks_end_before_the_batch_must() {
        for millis in [0, 200, 500, 900, 4_000, 4_300, 5_000] {
            let limit = Duration::from_millis(millis);
            let wait = lock_wait(limit);
            assert_eq!(wait.is_none(), millis >= 4_300, "{limit:?}");
            let wait = wait.unwrap_or(LOCK_WAIT);
            assert!(!wait.is_zero() && (limit < ANSWER_TIME || 2 * wait + ANSWER_TIME <= limit));
        }
    }
}
