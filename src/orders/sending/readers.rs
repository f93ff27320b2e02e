//! Limits the memory of lists that are still being sent after they have changed. A slow client keeps
//! a whole snapshot in memory, and each change creates another snapshot, so the oldest are cut off.

use super::sent_lists::{CutOff, SentList};
use crate::blocking::spawn_blocking_with_permit;
use crate::counter::counter;
use crate::orders::freshness::ListInMemory;
use crate::orders::snapshot::gzip::{self, Deflated};
use crate::orders::snapshot::{Page, Snapshot};
use bytes::Bytes;
use parking_lot::Mutex;
use prometheus::IntCounter;
use slog::{Logger, warn};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// All responses that send lists.
#[derive(Debug)]
pub struct Readers {
    state: Arc<Mutex<ListInMemory>>,
    /// The bytes that outdated lists may use.
    bound: usize,
    /// Limits the threads that compress pages.
    compressions: Arc<Semaphore>,
    lists_cut_off: IntCounter,
    log: Logger,
}

/// A response that sends a list.
#[derive(Debug)]
pub struct Reader {
    list: Arc<SentList>,
    compressions: Arc<Semaphore>,
}

impl Readers {
    /// Creates readers whose outdated lists may use `bound` bytes.
    pub fn new(state: Arc<Mutex<ListInMemory>>, bound: usize, log: &Logger) -> Readers {
        // More threads than processors would not be faster.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Readers {
            state,
            bound,
            compressions: Arc::new(Semaphore::new(threads)),
            lists_cut_off: counter(
                "store_orders_lists_cut_off_total",
                "Lists that were cut off because outdated lists held too much memory.",
            ),
            log: log.clone(),
        }
    }

    /// Registers a list that is about to be sent.
    pub fn register(&self, snapshot: &Arc<Snapshot>) -> Reader {
        let list = self.state.lock().share(snapshot);
        // The snapshot may have become outdated before its first response began.
        self.enforce();
        Reader { list, compressions: Arc::clone(&self.compressions) }
    }

    /// Compresses a part of a list as soon as a permit is free.
    pub async fn compress(&self, part: Vec<u8>) -> Result<Bytes, JoinError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.compressions).acquire_owned().await;
        Ok(spawn_blocking_with_permit(permit, move || gzip::compress_file(&part)).await?.into())
    }

    /// The counter of lists that were cut off.
    pub fn lists_cut_off(&self) -> &IntCounter {
        &self.lists_cut_off
    }

    /// Cuts off outdated lists, the oldest first, until the others are within the bound. Call it
    /// when a list has become outdated.
    pub fn enforce(&self) {
        let excess = self.state.lock().excess(self.bound);
        // Dropping a snapshot can take long, so the lock is released before.
        let cut: usize = excess.iter().map(SentList::cut_off).sum();
        if cut == 0 {
            return;
        }
        self.lists_cut_off.inc_by(cut as u64);
        warn!(self.log, "lists cut off: clients read them too slowly"; "lists" => cut,
            "effect" => "their bodies end early, with an error",
            "fix" => "raise outdated_lists_mib if there is memory to spare");
    }
}

impl Reader {
    /// Returns the list. Do not keep it across an `await`: a cut-off would not free its memory.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.list.snapshot()
    }

    /// Returns a page of the list. Call it only with a valid number.
    pub fn page(&self, number: usize) -> Result<Arc<Page>, CutOff> {
        self.snapshot()?.pages().get(number).map(Arc::clone).ok_or(CutOff)
    }

    /// Compresses a page of the list as soon as a permit is free.
    pub fn deflate(
        &self,
        number: usize,
    ) -> Result<impl Future<Output = Result<Deflated, JoinError>> + Send + Sync + use<>, CutOff>
    {
        Ok(self.page(number)?.deflate(Arc::clone(&self.compressions)))
    }
}
