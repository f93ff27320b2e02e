//! The one writer of cancellations: it takes as many as have queued, carries
//! them out in one transaction, makes them visible to lists, then answers.
//!
//! With one client a batch is one cancellation and nobody waits for more; with
//! many, one fsync serves them all. The writer is woken when those that have
//! arrived together have all queued: woken by the first of them, on a busy machine
//! it would often take that one alone.

use super::Marks;
use crate::metrics::Histogram;
use crate::store::{CancelOutcome, Cancellation, Store, StoreError};
use slog::{Logger, error, o};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

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

/// The writer's thread, as it is asked to cancel. It ends when this is dropped and
/// the queue is empty.
#[derive(Debug)]
pub struct Writer {
    queue: Arc<Queue>,
    failed: Arc<AtomicBool>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.lock().ended = true;
        self.queue.changed.notify_one();
    }
}

/// Cancellations that wait for the writer.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<Queued>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queued {
    requests: VecDeque<Request>,
    /// Nobody asks any more, or nobody is there to be asked.
    ended: bool,
}

impl Queue {
    /// Adds a request, unless nobody would hear it.
    fn push(&self, request: Request) -> Result<Wake<'_>, CancelError> {
        let mut queued = self.lock();
        if queued.ended {
            return Err(CancelError::NoAnswer);
        }
        queued.requests.push_back(request);
        Ok(Wake(self))
    }

    /// Waits for requests and takes as many as one transaction may carry out;
    /// none if there will be no more.
    fn take(&self) -> Vec<Request> {
        let idle = |queued: &mut Queued| queued.requests.is_empty() && !queued.ended;
        let waited = self.changed.wait_while(self.lock(), idle);
        let mut queued = waited.unwrap_or_else(PoisonError::into_inner);
        let batch = queued.requests.len().min(LARGEST_BATCH);
        queued.requests.drain(..batch).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Queued> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the writer, also where the caller goes away before he does.
struct Wake<'a>(&'a Queue);

impl Drop for Wake<'_> {
    fn drop(&mut self) {
        self.0.changed.notify_one();
    }
}

/// Ends the queue when the writer's thread ends, however it does: whoever waits
/// learns that there is no answer.
struct Serving<'a>(&'a Queue);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let mut queued = self.0.lock();
        queued.ended = true;
        queued.requests.clear();
    }
}

/// What the writer's thread works with.
struct Work {
    store: Arc<dyn Store>,
    marks: Arc<Marks>,
    /// How many cancellations each transaction carried out.
    batches: Histogram,
    /// The last batch was not carried out.
    failed: Arc<AtomicBool>,
    log: Logger,
}

impl Writer {
    /// Starts the thread.
    pub fn start(
        store: Arc<dyn Store>,
        marks: Arc<Marks>,
        batches: Histogram,
        log: &Logger,
    ) -> std::io::Result<Writer> {
        let queue = Arc::new(Queue::default());
        let failed = Arc::new(AtomicBool::new(false));
        let log = log.new(o!("part" => "writer"));
        let work = Work { store, marks, batches, failed: Arc::clone(&failed), log };
        let requests = Arc::clone(&queue);
        std::thread::Builder::new()
            .name("writer".to_string())
            .spawn(move || write(&work, &requests))?;
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
        let wake = self.queue.push((cancellation, sender))?;
        tokio::task::yield_now().await;
        drop(wake);
        answer.await.map_err(|_| CancelError::NoAnswer)?.map_err(CancelError::Store)
    }
}

fn write(work: &Work, queue: &Queue) {
    let _serving = Serving(queue);
    loop {
        let (batch, senders): (Vec<_>, Vec<_>) = queue.take().into_iter().unzip();
        if batch.is_empty() {
            return;
        }
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
            work.batches.observe(batch.len() as u64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewOrder;
    use crate::store::sqlite::SqliteStore;
    use chrono::DateTime;
    use futures::FutureExt;
    use futures::future::join_all;
    use tempfile::TempDir;

    /// A writer of a store with pending orders 1 to 20, the sizes of its batches,
    /// and the directory of the store.
    fn writer() -> (Writer, Histogram, TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path()).unwrap();
        let order = |id| NewOrder {
            id,
            pet_id: 7,
            quantity: 1,
            ship_date: None,
            complete: false,
            shipped: false,
        };
        let orders: Vec<_> = (1..=20).map(order).collect();
        store.import_orders(&orders, false, &|| ()).unwrap();
        let batches = Histogram::new(&[1, 19, 20]);
        let log = Logger::root(slog::Discard, o!());
        let (marks, counted) = (Arc::default(), batches.clone());
        (Writer::start(Arc::new(store), marks, counted, &log).unwrap(), batches, directory)
    }

    fn cancellation(order_id: i64) -> Cancellation {
        Cancellation { order_id, key_id: Arc::from("key_test"), at: DateTime::UNIX_EPOCH }
    }

    #[tokio::test]
    async fn those_that_arrive_together_are_one_batch() {
        let (writer, batches, _directory) = writer();
        let cancelled = join_all((1..=20).map(|id| writer.cancel(cancellation(id)))).await;
        assert!(cancelled.iter().all(|outcome| matches!(outcome, Ok(CancelOutcome::Cancelled))));
        assert_eq!(batches.counts().nth(2), Some((Some(20), 1)));
        assert_eq!(batches.sum(), 20);
    }

    #[tokio::test]
    async fn what_is_queued_is_carried_out_though_the_caller_goes_away() {
        let (writer, batches, _directory) = writer();
        let mut gone = Box::pin(writer.cancel(cancellation(1)));
        assert!(gone.as_mut().now_or_never().is_none());
        drop(gone);
        while batches.sum() < 1 {
            tokio::task::yield_now().await;
        }
        let again = writer.cancel(cancellation(1)).await;
        assert!(matches!(again, Ok(CancelOutcome::NotFound)), "{again:?}");
    }

    #[tokio::test]
    async fn without_the_writers_thread_there_is_no_answer() {
        let (writer, _, _directory) = writer();
        drop(Serving(&writer.queue));
        let answer = writer.cancel(cancellation(1)).await;
        assert!(matches!(answer, Err(CancelError::NoAnswer)), "{answer:?}");
    }
}
