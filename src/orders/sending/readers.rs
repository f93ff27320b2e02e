//! The lists under way, and the memory that outdated ones may hold. A slow reader holds a whole
//! snapshot, and after each change that is another one.

use crate::blocking::run_with;
use crate::metrics::Counter;
use crate::orders::snapshot::gzip::{self, Deflated};
use crate::orders::snapshot::{ListMemory, Page, Position, Snapshot};
use bytes::Bytes;
use parking_lot::Mutex;
use slog::{Logger, warn};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// The list was cut off, because outdated lists held too much memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was cut off: it was read too slowly")]
pub struct CutOff;

/// All lists under way.
#[derive(Debug)]
pub struct Readers {
    memory: ListMemory,
    /// Bytes that outdated snapshots and connections may hold.
    bound: usize,
    /// They hold half of the bound or more.
    is_scarce: AtomicBool,
    /// Bounds the threads that compress pages.
    compressions: Arc<Semaphore>,
    cut_off: Counter,
    log: Logger,
    /// By their age.
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct UnderWay {
    begun: u64,
    readers: BTreeMap<u64, Weak<Reader>>,
}

/// A list that is being sent.
#[derive(Debug)]
pub struct Reader {
    number: u64,
    /// Taken away when the list is cut off.
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    all: Arc<Readers>,
}

impl Readers {
    /// No list yet. Outdated snapshots may hold this many bytes.
    pub fn new(memory: ListMemory, bound: usize, log: &Logger) -> Readers {
        let (is_scarce, cut_off, under_way) = Default::default();
        // More would only take the processors from each other.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let compressions = Arc::new(Semaphore::new(threads));
        Readers { memory, bound, is_scarce, compressions, cut_off, log: log.clone(), under_way }
    }

    /// A list that begins to be sent.
    pub fn begin(self: &Arc<Self>, snapshot: Arc<Snapshot>) -> Arc<Reader> {
        let mut under_way = self.under_way.lock();
        under_way.begun += 1;
        let number = under_way.begun;
        let snapshot = Mutex::new(Some(snapshot));
        let reader = Arc::new(Reader { number, snapshot, all: Arc::clone(self) });
        under_way.readers.insert(number, Arc::downgrade(&reader));
        reader
    }

    /// A part of a list, counted while a connection holds it.
    pub fn hold(&self, part: Vec<u8>) -> Bytes {
        self.memory.hold(part).into_bytes()
    }

    /// A part of a list as gzip, compressed as soon as a thread may.
    pub async fn zip(&self, part: Vec<u8>) -> Result<Bytes, JoinError> {
        // Never closed.
        let permit = Arc::clone(&self.compressions).acquire_owned().await;
        Ok(self.hold(run_with(permit, move || gzip::file(&part)).await?))
    }

    /// Bytes of outdated snapshots that clients still read.
    pub fn outdated_bytes(&self) -> usize {
        self.memory.outdated()
    }

    /// Bytes that only connections hold: cutting lists off does not free them.
    pub fn bytes_in_connections(&self) -> usize {
        self.memory.held().saturating_sub(self.memory.held_by_snapshots())
    }

    /// Whether memory is scarce: lists then leave in small copies.
    pub fn is_scarce(&self) -> bool {
        self.is_scarce.load(Ordering::Relaxed)
    }

    /// Counts the lists that were cut off.
    pub fn cut_off(&self) -> &Counter {
        &self.cut_off
    }

    /// Whether outdated snapshots and connections exceed the bound. Connections count up to half of
    /// it: cutting lists off does not free their bytes, so all lists would be cut.
    fn is_exceeded(&self) -> bool {
        let in_connections = self.bytes_in_connections().min(self.bound / 2);
        self.outdated_bytes() + in_connections > self.bound
    }

    /// Cuts lists off, the oldest first, until the bound is kept.
    pub fn enforce(&self) {
        let held = self.outdated_bytes() + self.bytes_in_connections();
        let is_scarce = held >= self.bound / 2;
        self.is_scarce.store(is_scarce, Ordering::Relaxed);
        if !self.is_exceeded() {
            return;
        }
        // Collected first: dropping a reader takes the lock.
        let readers: Vec<_> =
            self.under_way.lock().readers.values().filter_map(Weak::upgrade).collect();
        let mut cut = 0;
        for reader in readers {
            if !self.is_exceeded() {
                break;
            }
            cut += u64::from(reader.cut_off_if_outdated());
        }
        if cut == 0 {
            return;
        }
        self.cut_off.inc_by(cut);
        warn!(self.log, "lists cut off: clients read them too slowly"; "lists" => cut,
            "effect" => "their bodies end early, with an error",
            "fix" => "raise outdated_lists_mib if there is memory to spare");
    }
}

impl Reader {
    /// The list, not to be held over a pause: it can be cut off at any time.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.snapshot.lock().clone().ok_or(CutOff)
    }

    /// The bytes of the turn at this position, which advances; none at the end. A copy if memory is
    /// scarce: a slice in a slow connection would keep its page in memory.
    pub fn next_turn(&self, position: &mut Position) -> Result<Option<Bytes>, CutOff> {
        let turn = self.snapshot()?.next_turn(position);
        if !self.all.is_scarce() {
            return Ok(turn);
        }
        Ok(turn.map(|turn| self.all.memory.hold(turn.to_vec()).into_bytes()))
    }

    /// A page of the list, which the caller knows to exist.
    pub fn page(&self, number: usize) -> Result<Arc<Page>, CutOff> {
        self.snapshot()?.pages().get(number).map(Arc::clone).ok_or(CutOff)
    }

    /// A page of the list, compressed as soon as a thread may.
    pub fn deflate(
        &self,
        number: usize,
    ) -> Result<impl Future<Output = Result<Deflated, JoinError>> + Send + Sync + use<>, CutOff>
    {
        let (memory, permits) = (self.all.memory.clone(), Arc::clone(&self.all.compressions));
        Ok(self.page(number)?.deflate(memory, permits))
    }

    /// Cuts the list off if that may free memory.
    fn cut_off_if_outdated(&self) -> bool {
        let cut = self.snapshot.lock().take_if(|snapshot| snapshot.is_outdated());
        // Dropped without the lock.
        cut.is_some()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.all.under_way.lock().readers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orders::snapshot::edit::tests::{edited, held, snapshot};
    use crate::store::OrderChange;
    use slog::Drain;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn what_only_connections_hold_cuts_no_list_off_and_warns_of_nothing() {
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
        let slow = readers.begin(Arc::clone(&outdated));
        let current = Arc::new(edited(&outdated, (0..200).step_by(2).map(OrderChange::Removed)));
        current.replace(outdated);
        readers.enforce();
        assert!(readers.is_scarce());
        let first_turn = |_| {
            let reader = readers.begin(Arc::clone(&current));
            reader.next_turn(&mut Position::default()).unwrap().unwrap()
        };
        let in_connections: Vec<Bytes> = (0..100).map(first_turn).collect();
        assert!(memory.held() - held(&current) > bound);
        readers.enforce();
        assert!(slow.snapshot().is_ok());
        assert_eq!((readers.cut_off().get(), lines.load(Ordering::Relaxed)), (0, 0));
        drop((in_connections, slow));
        assert_eq!((memory.outdated(), memory.held()), (0, held(&current)));
    }

    #[test]
    fn turns_are_copies_once_half_of_the_bound_is_held() {
        let list = Arc::new(snapshot(200));
        let memory = list.memory().clone();
        let readers =
            Arc::new(Readers::new(memory.clone(), 1_000, &Logger::root(slog::Discard, slog::o!())));
        let reader = readers.begin(Arc::clone(&list));
        let page = list.pages()[0].bytes().as_ptr_range();
        let is_copy = || {
            let turn = reader.next_turn(&mut Position::default()).unwrap().unwrap();
            assert!(list.pages()[0].bytes().starts_with(&turn));
            !page.contains(&turn.as_ptr())
        };
        for (outdated, scarce) in [(499, false), (500, true)] {
            let held = memory.hold(vec![0; outdated]);
            held.retire(1);
            readers.enforce();
            assert_eq!(readers.outdated_bytes(), outdated);
            assert_eq!((readers.is_scarce(), is_copy()), (scarce, scarce), "{outdated} bytes");
        }
        assert_eq!(readers.cut_off().get(), 0);
        drop(reader);
        assert!(readers.under_way.lock().readers.is_empty(), "a list that has ended is forgotten");
    }
}
