//! The order book: the list, encoded and ready to send, and the one way to
//! cancel an order. The store is the truth; the book follows it.
//!
//! A list reflects every change that was committed before it began, whichever
//! process made it. Cancellations of this process come as marks from the writer;
//! what others changed is read from the store when its version is ahead of the
//! book's.

mod gzip;
mod pages;
mod response;
mod stream;
mod writer;

pub use pages::Snapshot;
pub use response::list_response;
pub use stream::Arrivals;
pub use writer::CancelError;

use crate::metrics::Histogram;
use crate::store::{CancelOutcome, Cancellation, OrderChange, Store, StoreError};
use arc_swap::ArcSwap;
use pages::Edit;
use slog::Logger;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use writer::Writer;

/// Marks in so many pages are folded in right away, on the thread that asked for
/// the list: each page is copied once.
const FEW_PAGES: usize = 4;

/// Cancelled since the snapshot was made, and what version of the store the
/// snapshot and these marks reflect together.
#[derive(Debug, Default)]
pub struct Marks {
    gone: Mutex<Vec<i64>>,
    version: AtomicI64,
}

impl Marks {
    /// Adds the cancellations of one transaction, which brought the store from
    /// one version to another. If the book is behind the first, somebody else's
    /// changes are missing, and its version stays until they have been read.
    fn add(&self, gone: impl Iterator<Item = i64>, before: i64, after: i64) {
        self.lock().extend(gone);
        let _ = self.version.compare_exchange(before, after, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The ids, in ascending order.
    fn sorted(&self) -> Vec<i64> {
        let mut gone = self.lock().clone();
        gone.sort_unstable();
        gone
    }

    fn lock(&self) -> MutexGuard<'_, Vec<i64>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The store could not be read.
    #[error("the list cannot be brought up to date")]
    Store(#[from] StoreError),
    /// The store panicked.
    #[error("bringing the list up to date was cut short")]
    CutShort,
}

/// The list of orders and the writer of cancellations.
pub struct OrderList {
    store: Arc<dyn Store>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    marks: Arc<Marks>,
    /// Held by whoever brings the snapshot up to date.
    turn: Arc<tokio::sync::Mutex<()>>,
    writer: Writer,
}

impl OrderList {
    /// Reads the whole list from the store and starts the writer. Blocks.
    /// The writer counts in `batches` how many cancellations it carries out at
    /// once.
    pub fn open(
        store: Arc<dyn Store>,
        batches: Histogram,
        log: &Logger,
    ) -> Result<OrderList, OpenError> {
        let snapshot = Arc::new(ArcSwap::default());
        let marks = Arc::new(Marks::default());
        read_changes(&*store, &snapshot, &marks)?;
        let writer = Writer::start(Arc::clone(&store), Arc::clone(&marks), batches, log)?;
        let turn = Arc::default();
        Ok(OrderList { store, snapshot, marks, turn, writer })
    }

    /// The list as it stands now.
    pub async fn list(&self) -> Result<Arc<Snapshot>, ListError> {
        if self.is_current()? {
            return Ok(self.snapshot.load_full());
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        // Whoever had the turn before may have read all that this list needs;
        // the question is asked anew, because that reading may have begun
        // before this list did.
        let behind = self.is_behind()?;
        if !behind {
            let gone = self.marks.sorted();
            if self.snapshot.load().pages_of(&gone) <= FEW_PAGES {
                fold_marks(&self.snapshot, &self.marks, gone);
                return Ok(self.snapshot.load_full());
            }
        }
        let (store, snapshot, marks) =
            (Arc::clone(&self.store), Arc::clone(&self.snapshot), Arc::clone(&self.marks));
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if behind {
                read_changes(&*store, &snapshot, &marks)?;
            }
            fold_marks(&snapshot, &marks, marks.sorted());
            Ok(snapshot.load_full())
        })
        .await
        .map_err(|_| ListError::CutShort)?
    }

    /// Cancels a pending order: durable, and in no list that begins after this
    /// returns.
    pub async fn cancel(&self, cancellation: Cancellation) -> Result<CancelOutcome, CancelError> {
        self.writer.cancel(cancellation).await
    }

    /// Whether orders can be cancelled. If the last attempt failed, the store is
    /// asked to write something. Blocks.
    pub fn check_writes(&self) -> Result<(), StoreError> {
        if self.writer.has_failed() {
            self.store.try_write()?;
        }
        Ok(())
    }

    fn is_current(&self) -> Result<bool, StoreError> {
        Ok(!self.is_behind()? && self.marks.lock().is_empty())
    }

    fn is_behind(&self) -> Result<bool, StoreError> {
        // Read before the snapshot is, which is stored before the version.
        Ok(self.store.versions()?.orders > self.marks.version.load(Ordering::Acquire))
    }
}

/// Why the book could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store could not be read.
    #[error("the orders cannot be read")]
    Store(#[from] StoreError),
    /// The writer's thread could not be started.
    #[error("the writer's thread cannot be started")]
    Thread(#[from] std::io::Error),
}

/// Reads what the store holds after the book's version.
fn read_changes(
    store: &dyn Store,
    snapshot: &ArcSwap<Snapshot>,
    marks: &Marks,
) -> Result<(), StoreError> {
    let old = snapshot.load_full();
    let mut edit = Edit::of(&old);
    let after = marks.version.load(Ordering::Acquire);
    let version = store.for_each_order_since(after, &mut |change| edit.apply(change))?;
    snapshot.store(Arc::new(edit.finish()));
    marks.version.fetch_max(version, Ordering::AcqRel);
    Ok(())
}

/// Takes orders out of the snapshot: those of the first marks, in ascending order.
/// These marks go only when the new snapshot is in place: a list sees either them
/// or it.
fn fold_marks(snapshot: &ArcSwap<Snapshot>, marks: &Marks, gone: Vec<i64>) {
    let folded = gone.len();
    if folded == 0 {
        return;
    }
    let old = snapshot.load_full();
    let mut edit = Edit::of(&old);
    for id in gone {
        edit.apply(OrderChange::Removed(id));
    }
    snapshot.store(Arc::new(edit.finish()));
    marks.lock().drain(..folded);
}
