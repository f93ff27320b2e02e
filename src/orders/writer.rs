//! The single writer of cancellations. It executes the queued requests in one transaction, removes
//! the orders from the list, then answers.
//!
//! With one client, a batch is one cancellation; with many clients, many cancellations share one
//! fsync. Before a batch begins, the writer yields once so that requests that arrived together can
//! queue. Without this yield, the first request was often alone in its batch on a busy machine
//! (15 % fewer cancellations while lists are read).
//!
//! No caller waits past its deadline. A request is executed only if the store can write before the
//! request's deadline. So after a 503, the order may still be cancelled only if the request is in
//! the running batch.

mod running_batch;

pub use running_batch::RunningBatch;

use super::refresh::ListInMemory;
use crate::metrics::Histogram;
use crate::store::{CancelOutcome, Cancellation, LARGEST_BATCH, NotExecuted, Store, StoreError};
use futures::FutureExt;
use parking_lot::Mutex;
use slog::{Logger, error, o};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;

/// The maximum difference between the deadlines of a batch. In PostgreSQL a batch fails at its
/// earliest deadline. After a stall, requests that have time left would otherwise fail together
/// with requests that have none.
const MAX_DEADLINE_SPREAD: Duration = Duration::from_millis(500);

/// The maximum number of waiting requests.
const LONGEST_QUEUE: usize = 4 * LARGEST_BATCH;

/// The reason why a cancellation has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// The batch failed. It changed nothing, unless the store's files were removed or moved.
    #[error("the cancellation was not carried out")]
    Store(#[source] Arc<StoreError>),
    /// The store did not answer in time. The order is cancelled only if the request was in the
    /// batch that was running.
    #[error("the store did not carry the cancellation out in time")]
    TimedOut,
    /// Nothing was changed: the order may have changed after the position that the request gave.
    #[error("the order has changed")]
    Changed,
    /// Nothing was changed: a batch has been running for too long, so the request was not queued.
    #[error("a batch of cancellations has been under way for {} s", .0.as_secs())]
    Stuck(Duration),
    /// Nothing was changed: the queue is full.
    #[error("too many cancellations wait")]
    QueueFull,
    /// The store panicked, or the writer has ended.
    #[error("the writer gave no answer")]
    NoAnswer,
}

/// The outcome of a cancellation, the reason why it was not executed, or the batch's error.
type CancelAnswer = Result<Result<CancelOutcome, NotExecuted>, Arc<StoreError>>;
type QueuedCancel = (Cancellation, oneshot::Sender<CancelAnswer>);

/// The handle of the writer's task. The task ends when the handle is dropped and the queue is
/// empty.
#[derive(Debug)]
pub struct Writer {
    queue: mpsc::Sender<QueuedCancel>,
    failed: Arc<AtomicBool>,
    running: RunningBatch,
    stuck_after: Duration,
}

/// The state of the writer's task.
struct Work {
    store: Arc<dyn Store>,
    state: Arc<Mutex<ListInMemory>>,
    /// The sizes of batches that succeeded.
    batches: Histogram,
    /// True if the last batch failed.
    failed: Arc<AtomicBool>,
    running: RunningBatch,
    log: Logger,
}

impl Writer {
    /// Starts the task. Rejects requests while a batch has been running for longer than
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
        let (task_running, task_failed) = (running.clone(), Arc::clone(&failed));
        let work = Work { store, state, batches, failed: task_failed, running: task_running, log };
        tokio::spawn(run_writer(work, requests));
        Writer { queue, failed, running, stuck_after }
    }

    /// The running batch.
    pub fn running_batch(&self) -> &RunningBatch {
        &self.running
    }

    /// Fails if a batch has been running for too long.
    pub fn require_not_stuck(&self) -> Result<(), CancelError> {
        match self.running.age() {
            Some(age) if age > self.stuck_after => Err(CancelError::Stuck(age)),
            _ => Ok(()),
        }
    }

    /// True if the last batch failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Cancels an order. A queued request is executed even if the caller is dropped, unless the
    /// store cannot write before the deadline.
    pub async fn cancel(&self, cancellation: Cancellation) -> Result<CancelOutcome, CancelError> {
        self.require_not_stuck()?;
        let (sender, answer) = oneshot::channel();
        let deadline = cancellation.deadline;
        self.queue.try_send((cancellation, sender)).map_err(|error| match error {
            TrySendError::Full(_) => CancelError::QueueFull,
            TrySendError::Closed(_) => CancelError::NoAnswer,
        })?;
        let answer = tokio::time::timeout_at(deadline.into(), answer).await;
        let answer = answer.map_err(|_| CancelError::TimedOut)?;
        let outcome = answer.map_err(|_| CancelError::NoAnswer)?.map_err(CancelError::Store)?;
        outcome.map_err(|reason| match reason {
            NotExecuted::Expired => CancelError::TimedOut,
            NotExecuted::Changed => CancelError::Changed,
        })
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
        let answers = AssertUnwindSafe(execute_batch(&work, batch.into())).catch_unwind().await;
        work.running.end();
        let succeeded = answers.as_ref().is_ok_and(|answers| answers.iter().all(Result::is_ok));
        work.failed.store(!succeeded, Ordering::Relaxed);
        match answers {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    // The receiver is dropped if the client disconnected.
                    let _ = sender.send(answer);
                }
            }
            // Dropping the senders makes the callers return `NoAnswer`.
            Err(_) => error!(work.log, "the store panicked"; "batch" => senders.len()),
        }
    }
}

/// Waits for requests and returns the next batch, or an empty batch after the queue's end.
/// Postpones a request to the next batch if its deadline is too far from the first request's
/// deadline.
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
    // Other requests that arrived together with the first one can now enter the queue.
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

fn deadlines_are_near((one, _): &QueuedCancel, (other, _): &QueuedCancel) -> bool {
    let (first, last) = (one.deadline.min(other.deadline), one.deadline.max(other.deadline));
    last.duration_since(first) <= MAX_DEADLINE_SPREAD
}

async fn execute_batch(work: &Work, batch: Arc<[Cancellation]>) -> Vec<CancelAnswer> {
    match work.store.cancel(Arc::clone(&batch)).await {
        Ok(result) => {
            work.batches.observe(batch.len() as f64);
            let removals = batch
                .iter()
                .zip(&result.outcomes)
                .filter(|(_, outcome)| **outcome == Ok(CancelOutcome::Cancelled))
                .map(|(cancellation, _)| cancellation.order_id);
            work.state.lock().remove(removals, &result);
            result.outcomes.into_iter().map(Ok).collect()
        }
        Err(error) => {
            let error = Arc::new(error);
            batch.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}

#[cfg(test)]
mod tests;
