//! Counts the memory of lists: the bytes of their buffers, and the outdated snapshots that clients
//! still read.

use super::Snapshot;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Counts the bytes of buffers until their last reference is dropped, and tracks outdated
/// snapshots. The memory of a buffer can be up to an eighth larger than its bytes. Clones share the
/// state.
#[derive(Clone, Debug, Default)]
pub struct ListMemory {
    /// The bytes of the buffers in snapshots, responses and connections.
    buffer_bytes: Arc<AtomicUsize>,
    lists: Arc<Mutex<Lists>>,
}

#[derive(Debug, Default)]
struct Lists {
    current: Weak<Snapshot>,
    /// The outdated snapshots, the oldest first.
    outdated: Vec<Outdated>,
}

/// A snapshot that was replaced while clients read it.
#[derive(Debug)]
struct Outdated {
    snapshot: Weak<Snapshot>,
    /// The next newer snapshot that is still read.
    newer: Weak<Snapshot>,
    /// The bytes of the pages that `newer` does not share. Snapshots after `newer` do not share
    /// them either, because a page that has left the list never returns.
    bytes: usize,
}

/// The memory, in bytes, that lists use in addition to the current snapshot.
#[derive(Clone, Copy, Debug)]
pub struct ListBytes {
    /// The memory of outdated snapshots that clients still read.
    pub outdated: usize,
    /// The memory that only responses and connections use. Cutting lists off does not free it. The
    /// pages of a snapshot that is being built are included.
    pub in_connections: usize,
}

impl ListMemory {
    /// Wraps bytes in a buffer that is counted until it is dropped.
    pub fn hold(&self, bytes: Vec<u8>) -> Bytes {
        self.buffer_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Counted { bytes, total: Arc::clone(&self.buffer_bytes) })
    }

    /// The bytes of all buffers.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes.load(Ordering::Relaxed)
    }

    /// Replaces the current snapshot. Tracks the old one if clients still read it.
    pub fn replace(&self, old: Arc<Snapshot>, current: &Arc<Snapshot>) {
        let mut lists = self.lists.lock();
        lists.current = Arc::downgrade(current);
        lists.outdated.retain(|list| list.snapshot.strong_count() > 0);
        if Arc::strong_count(&old) > 1 {
            let (snapshot, newer) = (Arc::downgrade(&old), Weak::new());
            lists.outdated.push(Outdated { snapshot, newer, bytes: 0 });
        }
    }

    /// Computes the memory that lists use in addition to the current snapshot.
    pub fn used(&self) -> ListBytes {
        let lists = &mut *self.lists.lock();
        let Some(mut newer) = lists.current.upgrade() else {
            return ListBytes { outdated: 0, in_connections: self.buffer_bytes() };
        };
        let (current, mut outdated) = (newer.held_bytes(), 0);
        for list in lists.outdated.iter_mut().rev() {
            let Some(snapshot) = list.snapshot.upgrade() else { continue };
            // Compute `bytes` at the first call, and again when the previous `newer` is no longer
            // read.
            if list.newer.as_ptr() != Arc::as_ptr(&newer) {
                list.bytes = snapshot.bytes_missing_in(&newer);
                list.newer = Arc::downgrade(&newer);
            }
            outdated += list.bytes;
            newer = snapshot;
        }
        let in_connections = self.buffer_bytes().saturating_sub(current + outdated);
        ListBytes { outdated, in_connections }
    }

    /// Returns the outdated snapshots, the oldest first.
    pub fn outdated_lists(&self) -> Vec<Weak<Snapshot>> {
        self.lists.lock().outdated.iter().map(|list| Weak::clone(&list.snapshot)).collect()
    }
}

struct Counted {
    bytes: Vec<u8>,
    total: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::{apply_changes, snapshot};
    use super::*;
    use crate::store::OrderChange;

    #[test]
    fn a_page_of_several_outdated_lists_counts_once_while_one_of_them_is_read() {
        let first = Arc::new(snapshot(1_000));
        let second = Arc::new(apply_changes(&first, [OrderChange::Removed(0)]));
        second.replace(Arc::clone(&first));
        let third = Arc::new(apply_changes(&second, [OrderChange::Removed(999)]));
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
        assert_eq!((used.in_connections, third.memory().buffer_bytes()), (0, third.held_bytes()));
    }
}
