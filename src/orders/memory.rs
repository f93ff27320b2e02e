//! How much memory the buffers of lists hold, whoever holds them: the snapshot, a
//! response, or the connection that a chunk waits in.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the bytes of buffers from their making until the last reference to them is
/// dropped (up to an eighth more may be allocated). Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct ListMemory(Arc<AtomicUsize>);

impl ListMemory {
    /// These bytes as a buffer that is counted.
    pub fn hold(&self, bytes: Vec<u8>) -> Bytes {
        self.0.fetch_add(bytes.len(), Ordering::Relaxed);
        Bytes::from_owner(Held { bytes, memory: self.clone() })
    }

    /// How many bytes are held.
    pub fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

struct Held {
    bytes: Vec<u8>,
    memory: ListMemory,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.0.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}
