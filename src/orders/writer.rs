//! The one writer of cancellations: it takes as many as have queued, carries
//! them out in one transaction, makes them visible to lists, then answers.
//!
//! With one client a batch is one cancellation; with many, one fsync serves them all. A batch lets
//! requests that arrived together queue first: otherwise the first was often alone on a
//! busy machine (15 % fewer cancellations while lists are read).
//!
//! No caller waits past its deadline. A request is carried out only if the store can write before
//! it: after a 503 only the batch under way may still cancel the order.

mod running_batch;

pub use running_batch::RunningBatch;

use super::freshness::ListInMemory;
use crate::metrics::Histogram;
use crate::store::{CancelOutcome, Cancellation, Store, StoreError};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use parking_lot::Mutex;
use slog::{Logger, error, o};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

/// The most cancellations of one transaction: the first waits for the last.
const LARGEST_BATCH: usize = 1_024;

/// The longest time between two deadlines of a batch. PostgreSQL's batch is given up at the first
/// one: after a stall, requests with time left would fail with those that have none.
const MAX_DEADLINE_SPREAD: Duration = Duration::from_millis(500);

/// How many may wait for the writer.
const LONGEST_QUEUE: usize = 4 * LARGEST_BATCH;

/// The reason why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// The store could not carry the batch out; nothing was changed, unless its files were removed
    /// or moved.
    #[error("the cancellation was not carried out")]
    Store(#[source] Arc<StoreError>),
    /// The store did not answer in time. The order is cancelled only if the batch that
    /// was running then does it.
    #[error("the store did not carry the cancellation out in time")]
    TimedOut,
    /// Nothing was changed: a batch has been under way for too long, and more requests
    /// would only wait behind it.
    #[error("a batch of cancellations has been under way for {} s", .0.as_secs())]
    Stuck(Duration),
    /// Nothing was changed: as many requests wait as may.
    #[error("too many cancellations wait")]
    QueueFull,
    /// The store panicked, or the writer has ended.
    #[error("the writer gave no answer")]
    NoAnswer,
}

/// None if the deadline had passed before the store could write.
type CancelAnswer = Result<Option<CancelOutcome>, Arc<StoreError>>;
type QueuedCancel = (Cancellation, oneshot::Sender<CancelAnswer>);

/// The writer's task, as it is asked to cancel. It ends when this is dropped and
/// the queue is empty.
#[derive(Debug)]
pub struct Writer {
    queue: mpsc::Sender<QueuedCancel>,
    failed: Arc<AtomicBool>,
    running: RunningBatch,
    stuck_after: Duration,
}

/// The parts that the writer's task works with.
struct Work {
    store: Arc<dyn Store>,
    state: Arc<Mutex<ListInMemory>>,
    /// How many cancellations each transaction carried out.
    batches: Histogram,
    /// The last batch was not carried out.
    failed: Arc<AtomicBool>,
    running: RunningBatch,
    log: Logger,
}

impl Writer {
    /// Starts the task. No more requests are taken while a batch is under way for longer than
    /// `stuck_after`. Call it inside a runtime.
    pub fn start(
        store: Arc<dyn Store>,
        state: Arc<Mutex<ListInMemory>>,
        batches: Histogram,
        stuck_after: Duration,
        log: &Logger,
    ) -> Writer {
        let (queue, requests) = mpsc::channel(LONGEST_QUEUE);
        let failed = Arc::new(AtomicBool::new(false));
        let log = log.new(o!("part" => "writer"));
        let running = RunningBatch::none();
        let (of_task, has_failed) = (running.clone(), Arc::clone(&failed));
        let work = Work { store, state, batches, failed: has_failed, running: of_task, log };
        tokio::spawn(run_writer(work, requests));
        Writer { queue, failed, running, stuck_after }
    }

    /// The batch under way.
    pub fn running_batch(&self) -> &RunningBatch {
        &self.running
    }

    /// Fails if a batch has been under way for too long.
    pub fn require_not_stuck(&self) -> Result<(), CancelError> {
        match self.running.age() {
            Some(age) if age > self.stuck_after => Err(CancelError::Stuck(age)),
            _ => Ok(()),
        }
    }

    /// True if the last batch was not carried out.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Cancels an order. Once it is queued it is carried out even if the caller goes
    /// away, unless the store cannot write before the deadline.
    pub async fn cancel(
        &self,
        order_id: i64,
        key_id: Arc<str>,
        at: DateTime<Utc>,
        deadline: Instant,
    ) -> Result<CancelOutcome, CancelError> {
        self.require_not_stuck()?;
        let (sender, answer) = oneshot::channel();
        let cancellation = Cancellation { order_id, key_id, at, deadline };
        self.queue.try_send((cancellation, sender)).map_err(|error| match error {
            TrySendError::Full(_) => CancelError::QueueFull,
            TrySendError::Closed(_) => CancelError::NoAnswer,
        })?;
        let answer = tokio::time::timeout_at(deadline.into(), answer).await;
        let answer = answer.map_err(|_| CancelError::TimedOut)?;
        let outcome = answer.map_err(|_| CancelError::NoAnswer)?.map_err(CancelError::Store)?;
        outcome.ok_or(CancelError::TimedOut)
    }
}

async fn run_writer(work: Work, mut queue: mpsc::Receiver<QueuedCancel>) {
    let mut postponed = None;
    loop {
        let requests = next_batch(&mut queue, &mut postponed).await;
        let (batch, senders): (Vec<_>, Vec<_>) = requests.into_iter().unzip();
        if batch.is_empty() {
            return;
        }
        work.running.begin();
        let answers = AssertUnwindSafe(carry_out(&work, batch.into())).catch_unwind().await;
        work.running.end();
        let carried_out = answers.as_ref().is_ok_and(|answers| answers.iter().all(Result::is_ok));
        work.failed.store(!carried_out, Ordering::Relaxed);
        match answers {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    // The receiver is gone if the client went away.
                    let _ = sender.send(answer);
                }
            }
            // The senders are dropped, which their callers see as no answer.
            Err(_) => error!(work.log, "the store panicked"; "batch" => senders.len()),
        }
    }
}

/// Waits for requests and takes as many as one transaction may carry out; none if
/// there will be no more. One with another deadline is left for the next batch.
async fn next_batch(
    queue: &mut mpsc::Receiver<QueuedCancel>,
    postponed: &mut Option<QueuedCancel>,
) -> Vec<QueuedCancel> {
    let first = match postponed.take() {
        Some(first) => first,
        None => match queue.recv().await {
            Some(first) => first,
            None => return Vec::new(),
        },
    };
    // Those that arrived with it queue meanwhile.
    yield_now().await;
    let mut requests = vec![first];
    while requests.len() < LARGEST_BATCH
        && let Ok(next) = queue.try_recv()
    {
        if !requests.first().is_some_and(|first| deadlines_are_near(first, &next)) {
            *postponed = Some(next);
            break;
        }
        requests.push(next);
    }
    requests
}

/// True if two requests have nearly the same deadline.
fn deadlines_are_near((one, _): &QueuedCancel, (other, _): &QueuedCancel) -> bool {
    let (first, last) = (one.deadline.min(other.deadline), one.deadline.max(other.deadline));
    last.duration_since(first) <= MAX_DEADLINE_SPREAD
}

async fn carry_out(work: &Work, batch: Arc<[Cancellation]>) -> Vec<CancelAnswer> {
    match work.store.cancel(Arc::clone(&batch)).await {
        Ok(done) => {
            work.batches.observe(batch.len() as f64);
            let gone = batch
                .iter()
                .zip(&done.outcomes)
                .filter(|(_, outcome)| **outcome == Some(CancelOutcome::Cancelled))
                .map(|(cancellation, _)| cancellation.order_id);
            work.state.lock().remove(gone, &done);
            done.outcomes.into_iter().map(Ok).collect()
        }
        Err(error) => {
            let error = Arc::new(error);
            batch.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}

#[cfg(test)]
mod tests;
