//! The one writer of cancellations: it takes as many as have queued, carries
//! them out in one transaction, makes them visible to lists, then answers.
//!
//! With one client a batch is one cancellation and nobody waits for more; with
//! many, one fsync serves them all.

use super::Marks;
use crate::metrics::Histogram;
use crate::store::{CancelOutcome, Cancellation, Store, StoreError};
use slog::{Logger, error, o};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{mpsc, oneshot};

/// How many cancellations one transaction carries out at most: it bounds how
/// long the first of them waits for the last.
const LARGEST_BATCH: usize = 1_024;

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// The store could not carry the batch out; nothing was changed.
    #[error("the cancellation was not carried out")]
    Store(#[source] Arc<StoreError>),
    /// The store panicked, or the writer has ended.
    #[error("the writer gave no answer")]
    NoAnswer,
}

type Answer = Result<CancelOutcome, Arc<StoreError>>;
type Request = (Cancellation, oneshot::Sender<Answer>);

/// The queue to the writer's thread, which ends when the queue is dropped and
/// empty.
#[derive(Debug)]
pub struct Writer {
    queue: mpsc::Sender<Request>,
    failed: Arc<AtomicBool>,
}

/// What the writer's thread works with.
struct Work {
    store: Arc<dyn Store>,
    marks: Arc<Marks>,
    /// How many cancellations each transaction carried out.
    batches: Arc<Histogram>,
    /// The last batch was not carried out.
    failed: Arc<AtomicBool>,
    log: Logger,
}

impl Writer {
    /// Starts the thread.
    pub fn start(
        store: Arc<dyn Store>,
        marks: Arc<Marks>,
        batches: Arc<Histogram>,
        log: &Logger,
    ) -> std::io::Result<Writer> {
        let (queue, requests) = mpsc::channel(LARGEST_BATCH);
        let failed = Arc::new(AtomicBool::new(false));
        let log = log.new(o!("part" => "writer"));
        let work = Work { store, marks, batches, failed: Arc::clone(&failed), log };
        std::thread::Builder::new()
            .name("writer".to_string())
            .spawn(move || write(&work, requests))?;
        Ok(Writer { queue, failed })
    }

    /// Whether the last batch was not carried out.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Cancels an order. Once it is queued it is carried out even if the caller
    /// goes away.
    pub async fn cancel(&self, cancellation: Cancellation) -> Result<CancelOutcome, CancelError> {
        let (sender, answer) = oneshot::channel();
        self.queue.send((cancellation, sender)).await.map_err(|_| CancelError::NoAnswer)?;
        answer.await.map_err(|_| CancelError::NoAnswer)?.map_err(CancelError::Store)
    }
}

fn write(work: &Work, mut requests: mpsc::Receiver<Request>) {
    let mut queued = Vec::with_capacity(LARGEST_BATCH);
    while requests.blocking_recv_many(&mut queued, LARGEST_BATCH) > 0 {
        let (batch, senders): (Vec<_>, Vec<_>) = queued.drain(..).unzip();
        let answers = catch_unwind(AssertUnwindSafe(|| carry_out(work, &batch)));
        let carried_out = answers.as_ref().is_ok_and(|answers| answers.iter().all(Result::is_ok));
        work.failed.store(!carried_out, Ordering::Relaxed);
        match answers {
            Ok(answers) => {
                for (sender, answer) in senders.into_iter().zip(answers) {
                    // Nobody listens any more if the client went away.
                    let _ = sender.send(answer);
                }
            }
            // The senders are dropped, which their callers see as no answer.
            Err(_) => error!(work.log, "the store panicked"; "batch" => batch.len()),
        }
    }
}

fn carry_out(work: &Work, batch: &[Cancellation]) -> Vec<Answer> {
    match work.store.cancel(batch) {
        Ok(done) => {
            work.batches.count(batch.len() as u64);
            let gone = batch
                .iter()
                .zip(&done.outcomes)
                .filter(|(_, outcome)| **outcome == CancelOutcome::Cancelled)
                .map(|(cancellation, _)| cancellation.order_id);
            work.marks.add(gone, done.before, done.after);
            done.outcomes.into_iter().map(Ok).collect()
        }
        Err(error) => {
            let error = Arc::new(error);
            batch.iter().map(|_| Err(Arc::clone(&error))).collect()
        }
    }
}
