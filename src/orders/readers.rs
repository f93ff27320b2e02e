//! The lists that are being sent, and what outdated ones may hold in memory. Whoever
//! reads slowly holds a whole snapshot; after each change of the list that is one more.

use super::memory::ListMemory;
use super::page::Page;
use super::snapshot::{Position, Snapshot};
use bytes::Bytes;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use slog::{Logger, warn};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// The list was cut off, because outdated lists held too much memory.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the list was cut off: it was read too slowly")]
pub struct CutOff;

/// All lists under way.
#[derive(Debug)]
pub struct Readers {
    memory: ListMemory,
    /// How many bytes outdated snapshots may hold.
    bound: usize,
    /// Outdated snapshots hold half of that or more.
    is_scarce: AtomicBool,
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

/// A list that is being sent to an account.
#[derive(Debug)]
pub struct Reader {
    number: u64,
    account: i64,
    /// Taken away when the list is cut off.
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    all: Arc<Readers>,
}

impl Readers {
    /// No list yet. Outdated snapshots may hold this many bytes.
    pub fn new(memory: ListMemory, bound: usize, log: &Logger) -> Readers {
        let (is_scarce, cut_off, under_way) = Default::default();
        Readers { memory, bound, is_scarce, cut_off, log: log.clone(), under_way }
    }

    /// A list that begins to be sent.
    pub fn begin(self: &Arc<Self>, snapshot: Arc<Snapshot>, account: i64) -> Arc<Reader> {
        let mut under_way = self.under_way.lock();
        under_way.begun += 1;
        let number = under_way.begun;
        let snapshot = Mutex::new(Some(snapshot));
        let reader = Arc::new(Reader { number, account, snapshot, all: Arc::clone(self) });
        under_way.readers.insert(number, Arc::downgrade(&reader));
        reader
    }

    /// How many bytes everything but this snapshot, the current one, holds.
    pub fn outdated_bytes(&self, current: &Snapshot) -> usize {
        self.memory.held().saturating_sub(current.held())
    }

    /// Whether memory is scarce: lists then leave in small copies.
    pub fn is_scarce(&self) -> bool {
        self.is_scarce.load(Ordering::Relaxed)
    }

    /// Counts the lists that were cut off.
    pub fn cut_off(&self) -> &Counter {
        &self.cut_off
    }

    /// Cuts lists off until outdated snapshots hold no more than they may: first the
    /// oldest list of the account whose outdated lists are the longest.
    pub fn enforce(&self, current: &Arc<Snapshot>) {
        let outdated = self.outdated_bytes(current);
        self.is_scarce.store(outdated >= self.bound / 2, Ordering::Relaxed);
        if outdated <= self.bound {
            return;
        }
        let mut readers = self.outdated_readers(current);
        let mut cut = 0;
        while self.outdated_bytes(current) > self.bound
            && let Some(account) = account_that_holds_most(&readers)
            && let Some(oldest) = readers.iter().position(|(reader, _)| reader.account == account)
        {
            readers.remove(oldest).0.cut_off();
            cut += 1;
        }
        self.cut_off.inc_by(cut);
        warn!(self.log, "lists cut off: clients read them too slowly"; "lists" => cut,
            "effect" => "their bodies end early, with an error",
            "fix" => "raise outdated_lists_mib if there is memory to spare");
    }

    /// Readers of other snapshots than this one, the oldest first, and how long these
    /// are.
    fn outdated_readers(&self, current: &Arc<Snapshot>) -> Vec<(Arc<Reader>, usize)> {
        // Apart from what follows: a reader that is dropped takes the lock.
        let readers: Vec<_> =
            self.under_way.lock().readers.values().filter_map(Weak::upgrade).collect();
        let outdated = readers.into_iter().filter_map(|reader| {
            let snapshot = reader.snapshot().ok().filter(|own| !Arc::ptr_eq(own, current))?;
            Some((reader, snapshot.length()))
        });
        outdated.collect()
    }
}

/// The account whose lists are the longest together.
fn account_that_holds_most(readers: &[(Arc<Reader>, usize)]) -> Option<i64> {
    let mut by_account: HashMap<i64, usize> = HashMap::new();
    for (reader, length) in readers {
        *by_account.entry(reader.account).or_default() += length;
    }
    by_account.into_iter().max_by_key(|(_, length)| *length).map(|(account, _)| account)
}

impl Reader {
    /// The list, not to be held over a pause: it can be cut off at any time.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, CutOff> {
        self.snapshot.lock().clone().ok_or(CutOff)
    }

    /// What is sent in the turn at this position, which moves behind it; none at the
    /// end. Where memory is scarce it is a copy: it may wait in a connection for long,
    /// and would keep its page there with it.
    pub fn next_turn(&self, position: &mut Position) -> Result<Option<Bytes>, CutOff> {
        let turn = self.snapshot()?.next_turn(position);
        if !self.all.is_scarce() {
            return Ok(turn);
        }
        Ok(turn.map(|turn| self.all.memory.hold(turn.to_vec())))
    }

    /// A page of the list, which the caller knows to exist.
    pub fn page(&self, number: usize) -> Result<Arc<Page>, CutOff> {
        self.snapshot()?.pages().get(number).map(Arc::clone).ok_or(CutOff)
    }

    fn cut_off(&self) {
        let snapshot = self.snapshot.lock().take();
        // Dropped without the lock.
        drop(snapshot);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.all.under_way.lock().readers.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::snapshot;
    use super::*;

    #[test]
    fn turns_are_copies_once_half_of_the_bound_is_held() {
        let list = Arc::new(snapshot(200));
        let memory = list.memory().clone();
        let readers =
            Arc::new(Readers::new(memory.clone(), 1_000, &Logger::root(slog::Discard, slog::o!())));
        let reader = readers.begin(Arc::clone(&list), 1);
        let page = list.pages()[0].bytes().as_ptr_range();
        let is_copy = || {
            let turn = reader.next_turn(&mut Position::default()).unwrap().unwrap();
            assert!(list.pages()[0].bytes().starts_with(&turn));
            !page.contains(&turn.as_ptr())
        };
        for (outdated, scarce) in [(499, false), (500, true)] {
            let _held = memory.hold(vec![0; outdated]);
            readers.enforce(&list);
            assert_eq!(readers.outdated_bytes(&list), outdated);
            assert_eq!((readers.is_scarce(), is_copy()), (scarce, scarce), "{outdated} bytes");
        }
        assert_eq!(readers.cut_off().get(), 0);
        drop(reader);
        assert!(readers.under_way.lock().readers.is_empty(), "a list that has ended is forgotten");
    }
}
