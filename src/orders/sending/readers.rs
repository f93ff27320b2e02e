//! Tracks the lists that are being sent, and cuts off the oldest if outdated lists use too much
//! memory. A slow client keeps a whole snapshot in memory, and each change creates another
//! snapshot.

use crate::blocking::spawn_blocking_with_permit;
use crate::counter::Counter;
use crate::orders::snapshot::gzip::{self, Deflated};
use crate::orders::snapshot::{CutOff, ListBytes, ListMemory, Page, SentList, Snapshot};
use bytes::Bytes;
use slog::{Logger, warn};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// All lists that are being sent.
#[derive(Debug)]
pub struct Readers {
    memory: ListMemory,
    /// The bytes that outdated snapshots and connections may use.
    bound: usize,
    /// Limits the threads that compress pages.
    compressions: Arc<Semaphore>,
    cut_off: Counter,
    log: Logger,
}

/// A list that is being sent.
#[derive(Debug)]
pub struct Reader {
    list: Arc<SentList>,
    readers: Arc<Readers>,
}

impl Readers {
    /// Creates readers whose outdated snapshots may use `bound` bytes.
    pub fn new(memory: ListMemory, bound: usize, log: &Logger) -> Readers {
        // More threads than processors would not be faster.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Readers {
            memory,
            bound,
            compressions: Arc::new(Semaphore::new(threads)),
            cut_off: Counter::default(),
            log: log.clone(),
        }
    }

    /// Registers a list that is about to be sent.
    pub fn begin(self: &Arc<Self>, snapshot: &Arc<Snapshot>) -> Reader {
        Reader { list: SentList::for_snapshot(snapshot), readers: Arc::clone(self) }
    }

    /// Wraps a part of a list in a buffer that is counted until the connection drops it.
    pub fn hold(&self, part: Vec<u8>) -> Bytes {
        self.memory.hold(part)
    }

    /// Compresses a part of a list as soon as a permit is free.
    pub async fn compress(&self, part: Vec<u8>) -> Result<Bytes, JoinError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.compressions).acquire_owned().await;
        Ok(self.hold(spawn_blocking_with_permit(permit, move || gzip::compress_file(&part)).await?))
    }

    /// The memory that lists use in addition to the current list.
    pub fn used(&self) -> ListBytes {
        self.memory.used()
    }

    /// The counter of lists that were cut off.
    pub fn cut_off(&self) -> &Counter {
        &self.cut_off
    }

    /// True if outdated snapshots and connections exceed the bound. Cutting off a list does not
    /// free its bytes in connections. So these bytes count for at most half of the bound, and never
    /// cause a cut-off alone.
    fn is_exceeded(&self, used: ListBytes) -> bool {
        used.outdated + used.in_connections.min(self.bound / 2) > self.bound
    }

    /// Cuts off lists, the oldest first, until memory is within the bound.
    pub fn enforce(&self) {
        // `buffer_bytes` takes little time, and is never below the memory of outdated lists and
        // connections, because it also includes the current list.
        if self.memory.buffer_bytes() <= self.bound || !self.is_exceeded(self.memory.used()) {
            return;
        }
        let mut cut = 0;
        for outdated in self.memory.outdated_lists() {
            if !self.is_exceeded(self.memory.used()) {
                break;
            }
            cut += outdated.upgrade().map_or(0, |list| list.cut_off());
        }
        if cut == 0 {
            return;
        }
        self.cut_off.inc_by(cut as u64);
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
        let (memory, permits) =
            (self.readers.memory.clone(), Arc::clone(&self.readers.compressions));
        Ok(self.page(number)?.deflate(memory, permits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::snapshot::edit::tests::{apply_changes, snapshot};
    use crate::store::OrderChange;
    use slog::Drain;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn memory_of_connections_alone_cuts_off_no_list_and_logs_no_warning() {
        let outdated = Arc::new(snapshot(200));
        let (memory, bound) = (outdated.memory().clone(), 2 * outdated.length());
        let lines = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lines);
        let counting = move |_: &slog::Record<'_>| {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        };
        let log = Logger::root(slog::Discard.filter(counting).fuse(), slog::o!());
        let readers = Arc::new(Readers::new(memory.clone(), bound, &log));
        let slow = readers.begin(&outdated);
        let current =
            Arc::new(apply_changes(&outdated, (0..200).step_by(2).map(OrderChange::Removed)));
        current.replace(outdated);
        readers.enforce();
        let in_connections: Vec<Bytes> = (0..100).map(|_| readers.hold(vec![0; 1_024])).collect();
        assert!(memory.buffer_bytes() - current.held_bytes() > bound);
        readers.enforce();
        assert!(slow.snapshot().is_ok());
        assert_eq!((readers.cut_off().get(), lines.load(Ordering::Relaxed)), (0, 0));
        drop((in_connections, slow));
        assert_eq!((memory.used().outdated, memory.buffer_bytes()), (0, current.held_bytes()));
    }
}
