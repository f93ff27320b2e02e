//! The memory of lists: the bytes of their buffers, and the snapshots that clients still read
//! although they were replaced.

use super::Snapshot;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Counts the bytes of buffers until the last reference to them is dropped (up to an eighth more
/// may be allocated), and remembers outdated snapshots. Clones share both.
#[derive(Clone, Debug, Default)]
pub struct ListMemory {
    /// Bytes of the buffers in snapshots, responses and connections.
    held: Arc<AtomicUsize>,
    lists: Arc<Mutex<Lists>>,
}

#[derive(Debug, Default)]
struct Lists {
    current: Weak<Snapshot>,
    /// The oldest first.
    outdated: Vec<Outdated>,
}

/// A snapshot that was replaced while clients read it.
#[derive(Debug)]
struct Outdated {
    snapshot: Weak<Snapshot>,
    /// The snapshot after it that is still read.
    newer: Weak<Snapshot>,
    /// The bytes of its pages that the newer one lacks, and so every later one.
    bytes: usize,
}

/// The memory that lists hold besides the current snapshot, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct ListBytes {
    /// In outdated snapshots that clients still read.
    pub outdated: usize,
    /// In responses and connections alone: cutting lists off does not free it. A snapshot that is
    /// being made counts here.
    pub in_connections: usize,
}

impl ListMemory {
    /// These bytes as a buffer that is counted.
    pub fn hold(&self, bytes: Vec<u8>) -> Bytes {
        self.held.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Counted { bytes, held: Arc::clone(&self.held) })
    }

    /// Bytes of all buffers.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Replaces the old snapshot as the current one.
    pub fn replace(&self, old: Arc<Snapshot>, current: &Arc<Snapshot>) {
        let mut lists = self.lists.lock();
        lists.current = Arc::downgrade(current);
        lists.outdated.retain(|list| list.snapshot.strong_count() > 0);
        if Arc::strong_count(&old) > 1 {
            let (snapshot, newer) = (Arc::downgrade(&old), Weak::new());
            lists.outdated.push(Outdated { snapshot, newer, bytes: 0 });
        }
    }

    /// The memory in use.
    pub fn used(&self) -> ListBytes {
        let lists = &mut *self.lists.lock();
        let Some(mut newer) = lists.current.upgrade() else {
            return ListBytes { outdated: 0, in_connections: self.held() };
        };
        let (current, mut outdated) = (newer.held_bytes(), 0);
        for list in lists.outdated.iter_mut().rev() {
            let Some(snapshot) = list.snapshot.upgrade() else { continue };
            // Not yet compared, or the snapshot after it is no longer read.
            if list.newer.as_ptr() != Arc::as_ptr(&newer) {
                list.bytes = snapshot.bytes_missing_in(&newer);
                list.newer = Arc::downgrade(&newer);
            }
            outdated += list.bytes;
            newer = snapshot;
        }
        let in_connections = self.held().saturating_sub(current + outdated);
        ListBytes { outdated, in_connections }
    }

    /// The outdated snapshots, the oldest first.
    pub fn outdated_lists(&self) -> Vec<Weak<Snapshot>> {
        self.lists.lock().outdated.iter().map(|list| Weak::clone(&list.snapshot)).collect()
    }
}

struct Counted {
    bytes: Vec<u8>,
    held: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::{edited, snapshot};
    use super::*;
    use crate::store::OrderChange;

    #[test]
    fn pages_of_outdated_lists_count_once_while_one_of_these_lists_is_read() {
        let first = Arc::new(snapshot(1_000));
        let second = Arc::new(edited(&first, [OrderChange::Removed(0)]));
        second.replace(Arc::clone(&first));
        let third = Arc::new(edited(&second, [OrderChange::Removed(999)]));
        third.replace(Arc::clone(&second));
        let [begin, end] =
            [first.pages().first(), first.pages().last()].map(|page| page.unwrap().bytes().len());
        let outdated = || third.memory().used().outdated;
        assert_eq!(outdated(), begin + end);
        drop(second);
        assert_eq!(outdated(), begin + end, "the first list has both pages");
        drop(first);
        assert_eq!(outdated(), 0);
        let used = third.memory().used();
        assert_eq!((used.in_connections, third.memory().held()), (0, third.held_bytes()));
    }
}
