//! How much memory the buffers of lists hold: the snapshot, a
//! response, or the connection that a chunk waits in.

use bytes::Bytes;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Counts the bytes of buffers from their making until the last reference to them is
/// dropped (up to an eighth more may be allocated). Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct ListMemory {
    all: Arc<AtomicUsize>,
    of_snapshots: Arc<AtomicUsize>,
    outdated: Arc<AtomicUsize>,
    /// How many snapshots have been published.
    publications: Arc<AtomicU64>,
}

impl ListMemory {
    /// These bytes as a buffer that is counted.
    pub fn hold(&self, bytes: Vec<u8>) -> Buffer {
        let of_snapshot = Arc::new(OfSnapshot {
            counted: Counted::new(&self.of_snapshots, bytes.len()),
            outdated: Arc::clone(&self.outdated),
            is_outdated: AtomicBool::default(),
            published_in: AtomicU64::default(),
        });
        let counted = Counted::new(&self.all, bytes.len());
        Buffer { bytes: Bytes::from_owner(Held { bytes, _counted: counted }), of_snapshot }
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// Bytes that snapshots hold.
    pub fn held_by_snapshots(&self) -> usize {
        self.of_snapshots.load(Ordering::Relaxed)
    }

    /// Bytes of snapshots that are outdated, but still read.
    pub fn outdated(&self) -> usize {
        self.outdated.load(Ordering::Relaxed)
    }

    /// The number of the next snapshot that becomes the current one.
    pub fn next_publication(&self) -> u64 {
        self.publications.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A buffer, or a part of one, in a snapshot. A clone of its bytes alone, in a connection,
/// keeps it in memory, but is no longer counted as a snapshot's.
#[derive(Clone, Debug)]
pub struct Buffer {
    bytes: Bytes,
    of_snapshot: Arc<OfSnapshot>,
}

impl Buffer {
    /// It is part of this publication.
    pub fn publish(&self, publication: u64) {
        self.of_snapshot.published_in.store(publication, Ordering::Relaxed);
        self.of_snapshot.set_outdated(false);
    }

    /// Clients read it that began before this publication, which may still have it.
    pub fn retire(&self, publication: u64) {
        let is_outdated = self.of_snapshot.published_in.load(Ordering::Relaxed) < publication;
        self.of_snapshot.set_outdated(is_outdated);
    }

    /// Whether the current snapshot lacks it.
    pub fn is_outdated(&self) -> bool {
        self.of_snapshot.is_outdated.load(Ordering::SeqCst)
    }

    /// A slice, which keeps the whole buffer in memory.
    pub fn part(&self, range: Range<usize>) -> Buffer {
        Buffer { bytes: self.bytes.slice(range), of_snapshot: Arc::clone(&self.of_snapshot) }
    }

    /// For a connection.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Deref for Buffer {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

struct Held {
    bytes: Vec<u8>,
    _counted: Counted,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The part that snapshots have in a buffer.
#[derive(Debug)]
struct OfSnapshot {
    counted: Counted,
    /// Counts the buffers that are outdated.
    outdated: Arc<AtomicUsize>,
    is_outdated: AtomicBool,
    published_in: AtomicU64,
}

impl OfSnapshot {
    fn set_outdated(&self, is_outdated: bool) {
        let was_outdated = self.is_outdated.swap(is_outdated, Ordering::SeqCst);
        match (was_outdated, is_outdated) {
            (false, true) => _ = self.outdated.fetch_add(self.counted.bytes, Ordering::Relaxed),
            (true, false) => _ = self.outdated.fetch_sub(self.counted.bytes, Ordering::Relaxed),
            _ => {}
        }
    }
}

impl Drop for OfSnapshot {
    fn drop(&mut self) {
        self.set_outdated(false);
    }
}

/// Bytes that are in a count until this is dropped.
#[derive(Debug)]
struct Counted {
    count: Arc<AtomicUsize>,
    bytes: usize,
}

impl Counted {
    fn new(count: &Arc<AtomicUsize>, bytes: usize) -> Counted {
        count.fetch_add(bytes, Ordering::Relaxed);
        Counted { count: Arc::clone(count), bytes }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.count.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
