//! Tests of the writer: batches, dropped callers, and a store that cannot write.

use super::*;
use crate::orders::snapshot::Sizes;
use crate::store::sqlite::SqliteStore;
use crate::store::{OperatorStore, Order, REQUEST_TIMEOUT, Records};
use chrono::DateTime;
use futures::FutureExt;
use futures::future::join_all;
use std::time::Instant;
use tempfile::TempDir;
use testbed::wait_until;

async fn writer() -> (Writer, Histogram, Arc<Mutex<ListInMemory>>, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path()).unwrap();
    let orders: Vec<_> = (1..=20).map(Order::pending).collect();
    store.import(Records::Orders(&orders), false).unwrap();
    let batches = crate::metrics::batch_sizes().unwrap();
    let log = Logger::root(slog::Discard, o!());
    let state = ListInMemory::open(&store, Sizes::default()).await.unwrap();
    let (state, shared) = (Arc::new(Mutex::new(state)), Arc::new(store));
    let writer = Writer::start(shared, Arc::clone(&state), batches.clone(), REQUEST_TIMEOUT, &log);
    (writer, batches, state, directory)
}

async fn cancel(writer: &Writer, id: i64) -> Result<CancelOutcome, CancelError> {
    let deadline = Instant::now() + writer.stuck_after;
    writer.cancel(request(id, deadline).0).await
}

#[tokio::test]
async fn queued_requests_form_one_batch_up_to_the_maximum_size() {
    let deadline = Instant::now() + REQUEST_TIMEOUT;
    let all = (0..LARGEST_BATCH as i64 + 20).map(|order_id| request(order_id, deadline));
    assert_eq!(batch_sizes(all).await, [LARGEST_BATCH, 20]);
}

/// A batch fails at the earliest deadline of its requests. So requests with little time left must
/// not share a batch with new requests.
#[tokio::test]
async fn requests_with_distant_deadlines_are_in_different_batches() {
    let now = Instant::now();
    let times_left = [600, 650, 1_000, 1_150, 4_900, 4_950].map(Duration::from_millis);
    let all = times_left.into_iter().map(|time_left| request(1, now + time_left));
    assert_eq!(batch_sizes(all).await, [3, 1, 2]);
}

fn request(order_id: i64, deadline: Instant) -> QueuedCancel {
    let (key_id, at) = (Arc::from("key_test"), DateTime::UNIX_EPOCH);
    let unchanged_since = None;
    (Cancellation { order_id, key_id, at, deadline, unchanged_since }, oneshot::channel().0)
}

async fn batch_sizes(all: impl Iterator<Item = QueuedCancel>) -> Vec<usize> {
    let (queue, mut requests) = mpsc::channel(LONGEST_QUEUE);
    all.for_each(|request| queue.try_send(request).unwrap());
    drop(queue);
    let (mut postponed, mut sizes) = (None, Vec::new());
    loop {
        match next_batch(&mut requests, &mut postponed).await.len() {
            0 => return sizes,
            size => sizes.push(size),
        }
    }
}

#[tokio::test]
async fn requests_that_queue_during_a_batch_form_the_next_one() {
    let (writer, batches, _, directory) = writer().await;
    let other = rusqlite::Connection::open(directory.path().join("store.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut first = Box::pin(cancel(&writer, 1));
    assert!((&mut first).now_or_never().is_none());
    wait_until("the first batch begins", || async { writer.running.age().is_some() }).await;
    assert!((&mut first).now_or_never().is_none());
    let mut others = Box::pin(join_all((2..=20).map(|id| cancel(&writer, id))));
    assert!((&mut others).now_or_never().is_none());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(first.await, Ok(CancelOutcome::Cancelled)));
    let cancelled = others.await;
    assert!(cancelled.iter().all(|outcome| matches!(outcome, Ok(CancelOutcome::Cancelled))));
    assert_eq!((batches.get_sample_count(), batches.get_sample_sum()), (2, 20.0));
}

#[tokio::test]
async fn a_queued_request_is_executed_after_its_caller_is_dropped() {
    let (writer, batches, _, _directory) = writer().await;
    let mut dropped = Box::pin(cancel(&writer, 1));
    assert!(dropped.as_mut().now_or_never().is_none());
    drop(dropped);
    let again = cancel(&writer, 1).await;
    assert!(matches!(again, Ok(CancelOutcome::NotFound)), "{again:?}");
    assert_eq!(batches.get_sample_sum(), 2.0);
}

#[tokio::test]
async fn no_request_waits_long_for_a_store_that_cannot_write() {
    let (mut writer, batches, _, directory) = writer().await;
    writer.stuck_after = Duration::from_millis(50);
    let other = rusqlite::Connection::open(directory.path().join("store.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let first = cancel(&writer, 1).await;
    assert!(matches!(first, Err(CancelError::TimedOut)), "{first:?}");
    // The first batch may have begun late, so wait until it counts as stuck.
    wait_until("the batch is stuck", || async { writer.require_not_stuck().is_err() }).await;
    let second = cancel(&writer, 2).await;
    assert!(matches!(second, Err(CancelError::Stuck(_))), "{second:?}");
    other.execute_batch("ROLLBACK").unwrap();
    wait_until("the batch ends", || async { batches.get_sample_sum() >= 1.0 }).await;
    // The first request was not executed, because its deadline had passed. So order 1 can still be
    // cancelled.
    writer.stuck_after = REQUEST_TIMEOUT;
    let again = cancel(&writer, 1).await;
    assert!(matches!(again, Ok(CancelOutcome::Cancelled)), "{again:?}");
}

#[tokio::test]
async fn a_request_fails_if_the_queue_is_full() {
    let (queue, _requests) = mpsc::channel(1);
    let (running, stuck_after) = (RunningBatch::none(), REQUEST_TIMEOUT);
    let writer = Writer { queue, failed: Arc::default(), running, stuck_after };
    assert!(Box::pin(cancel(&writer, 1)).now_or_never().is_none());
    let second = cancel(&writer, 2).await;
    assert!(matches!(second, Err(CancelError::QueueFull)), "{second:?}");
}

#[tokio::test]
async fn a_request_fails_if_the_writers_task_has_ended() {
    let (queue, _) = mpsc::channel(1);
    let (running, stuck_after) = (RunningBatch::none(), REQUEST_TIMEOUT);
    let writer = Writer { queue, failed: Arc::default(), running, stuck_after };
    let answer = cancel(&writer, 1).await;
    assert!(matches!(answer, Err(CancelError::NoAnswer)), "{answer:?}");
}
