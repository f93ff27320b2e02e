//! How much memory the buffers of lists hold: the snapshot, a
//! response, or the connection that a chunk waits in.

use bytes::Bytes;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of buffers from their making until the last reference to them is
/// dropped (up to an eighth more may be allocated). Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct ListMemory {
    all: Arc<AtomicUsize>,
    of_snapshots: Arc<AtomicUsize>,
}

impl ListMemory {
    /// These bytes as a buffer that is counted.
    pub fn hold(&self, bytes: Vec<u8>) -> Buffer {
        let of_snapshot = Arc::new(Counted::new(&self.of_snapshots, bytes.len()));
        let counted = Counted::new(&self.all, bytes.len());
        Buffer { bytes: Bytes::from_owner(Held { bytes, _counted: counted }), of_snapshot }
    }

    /// How many bytes are held.
    pub fn held(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// How many of them snapshots hold, and not only connections.
    pub fn held_by_snapshots(&self) -> usize {
        self.of_snapshots.load(Ordering::Relaxed)
    }
}

/// A buffer, or a part of one, in a snapshot. A clone of its bytes alone, in a connection,
/// keeps it in memory, but is no longer counted as a snapshot's.
#[derive(Clone, Debug)]
pub struct Buffer {
    bytes: Bytes,
    of_snapshot: Arc<Counted>,
}

impl Buffer {
    /// A part of it, which keeps all of it in memory.
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
