//! Group commit: one writer executes the queued cancellations together, up to 1,024 in one
//! transaction.
//!
//! A cancellation must be on the disk, and on the standby if there is one, before the caller gets
//! the 204. Commits follow one another, because SQLite has one writer, and in PostgreSQL each
//! change takes the change lock. So with a transaction for each request, requests would wait for
//! each other's fsync. With an fsync of 1 ms, SQLite commits 893 such transactions a second. A
//! pause to collect requests would help under load, but it would delay a client that is alone.
//!
//! So one task takes what is in the queue, executes it as one batch, and responds. Requests that
//! arrive in the meantime form the next batch. A client that is alone has a batch to itself. With
//! 64 clients, which share an fsync, the rate is 20,529 cancellations a second
//! (`xtask/bench/README.md`). Before a batch begins, the task yields once, so that requests that
//! arrived together can queue. Without the yield, a busy machine executed 15 % fewer cancellations
//! while lists were read.
//!
//! What is always true:
//!
//! - A batch is durable before any caller of the batch gets a 204 ([`execute_batch`]).
//! - By then, the list in memory no longer shows the cancelled orders. There are two exceptions:
//!   the list had not read an earlier change yet, or an earlier attempt in PostgreSQL cancelled the
//!   orders. In both cases, the next freshness query reports the cancellations.
//! - Of several requests for one pending order, at most one gets the 204. Requests that are
//!   executed later get a 404.
//! - No caller waits past its deadline, which is 5 s after its request arrived
//!   ([`Writer::cancel`]). SQLite executes a request only if the batch gets the write lock before
//!   the deadline. PostgreSQL may execute a batch after the deadline, although it was sent before.
//!   So after a timeout, only a request in the running batch may still be executed.
//! - Batches of several servers cannot deadlock in PostgreSQL, because each batch takes the change
//!   lock first and keeps it until its transaction ends (`LOCK_CHANGES` in
//!   `store/postgres/journal.rs`).
//! - Each deadline in a batch differs from the first request's deadline by at most
//!   [`MAX_DEADLINE_SPREAD`]. A batch in PostgreSQL fails at its earliest deadline. So without this
//!   limit, one old request would make up to 1,023 other requests fail.
//!
//! If a cancellation has no outcome, the client can always send the request again, and take a 404
//! as success. The [`CancelError`] decides the response:
//!
//! | Error | Response | Was the order cancelled? |
//! |---|---|---|
//! | `Store`: the batch failed | 503 | perhaps (SQLite: only if its files were removed or moved) |
//! | `TimedOut`: the deadline passed | 503 | perhaps, if the request was in the running batch |
//! | `Stuck`: a batch has been running for over 5 s | 503 | no, the request was not queued |
//! | `QueueFull`: 4,096 requests are waiting | 503 | no, the request was not queued |
//! | `NoAnswer`: the store panicked | 500 | perhaps |
//! | `Changed`: the order may have changed since the client's `If-Match` | none, the handler compares the order's tag again | no |
//!
//! What happens when something fails:
//!
//! - The answer to PostgreSQL's COMMIT is lost: the batch is sent again under the same id, until
//!   half a second before its earliest deadline (`store/postgres/session/writer.rs`).
//! - The process is killed after the commit: the client gets no response, and its retry gets a 404.
//! - The client disconnects: its queued request is still executed, unless its deadline passes
//!   first.
//! - Writing hangs or fails: `OrderList::require_writable` makes the server unready.

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

/// The maximum difference between the deadlines of a batch's first request and of any other request
/// in the batch. A larger difference would make requests fail earlier, because a batch in
/// PostgreSQL fails at its earliest deadline.
const MAX_DEADLINE_SPREAD: Duration = Duration::from_millis(500);

/// While this many requests are waiting, further requests fail with [`CancelError::QueueFull`].
const LONGEST_QUEUE: usize = 4 * LARGEST_BATCH;

/// The reason why a cancellation is not confirmed. The order may still have been cancelled, except
/// after `Changed`, `Stuck` and `QueueFull`.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    #[error("the cancellation failed, or its outcome is unknown")]
    Store(#[source] Arc<StoreError>),
    /// The deadline has passed. The order may have been cancelled if its request was in the batch
    /// that was running at the deadline.
    #[error("the store did not confirm the cancellation in time")]
    TimedOut,
    /// The order was not cancelled, because it may have changed after the request's
    /// `unchanged_since`.
    #[error("the order has changed")]
    Changed,
    /// A batch has been running for too long, so the request was not queued.
    #[error("a batch of cancellations has been under way for {} s", .0.as_secs())]
    Stuck(Duration),
    #[error("too many cancellations wait")]
    QueueFull,
    /// The store panicked, or the writer has ended.
    #[error("the writer gave no answer")]
    NoAnswer,
}

/// The answer to one cancellation. The outer error concerns the whole batch, the inner error only
/// this cancellation.
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

struct Work {
    store: Arc<dyn Store>,
    state: Arc<Mutex<ListInMemory>>,
    /// Records the size of each successful batch.
    batches: Histogram,
    failed: Arc<AtomicBool>,
    running: RunningBatch,
    log: Logger,
}

impl Writer {
    /// Starts the writer's task. Must be called within a tokio runtime. The writer rejects requests
    /// while a batch has been running for longer than `stuck_after`.
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

    pub fn running_batch(&self) -> &RunningBatch {
        &self.running
    }

    /// Fails if a batch hangs. The caller then refuses a new request immediately, so that the
    /// request does not wait for the batch.
    pub fn require_not_stuck(&self) -> Result<(), CancelError> {
        match self.running.age() {
            Some(age) if age > self.stuck_after => Err(CancelError::Stuck(age)),
            _ => Ok(()),
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Cancels an order. Dropping this future does not withdraw a queued request.
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
                    // The receiver is dropped if the client disconnected or the request timed out.
                    let _ = sender.send(answer);
                }
            }
            // Dropping the senders makes the callers return `NoAnswer`.
            Err(_) => error!(work.log, "the store panicked"; "batch" => senders.len()),
        }
    }
}

/// Waits for the next batch. Returns an empty batch once the queue is closed and empty. Postpones a
/// request whose deadline is more than [`MAX_DEADLINE_SPREAD`] from the deadline of the batch's
/// first request.
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
    // Yield, so that requests that arrived together with the first one can enter the queue.
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
