//! A page: a run of encoded orders as they are sent.

use super::gzip::Deflated;
use super::memory::ListMemory;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio::task::JoinError;

/// A run of encoded orders. Besides the bytes it costs 12 bytes an order.
#[derive(Debug)]
pub struct Page {
    bytes: Bytes,
    ids: Arc<[i64]>,
    /// Where each order ends in `bytes`. Each is preceded by `[` or `,`.
    ends: Arc<[u32]>,
    /// Compressed when a gzip list first needs it.
    deflated: Arc<OnceCell<Deflated>>,
}

impl Page {
    /// Orders of these ids, encoded in these bytes, where each ends here.
    pub fn new(bytes: Bytes, ids: &[i64], ends: &[u32]) -> Page {
        Page { bytes, ids: ids.into(), ends: ends.into(), deflated: Arc::default() }
    }

    /// The bytes as they are sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The ids, in ascending order.
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// Where each order ends.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Whether the array ends in this page.
    pub fn is_last(&self) -> bool {
        self.bytes.ends_with(b"]")
    }

    /// Whether an order of this id is in this page or in one before it.
    pub fn reaches(&self, id: i64) -> bool {
        self.ids.last().is_some_and(|last| *last >= id)
    }

    /// The same orders with other bytes around them.
    pub fn with_bytes(&self, bytes: Bytes) -> Arc<Page> {
        let (ids, ends) = (Arc::clone(&self.ids), Arc::clone(&self.ends));
        Arc::new(Page { bytes, ids, ends, deflated: Arc::default() })
    }

    /// The same page with its bytes elsewhere in memory.
    pub fn moved_to(&self, bytes: Bytes) -> Arc<Page> {
        debug_assert_eq!(self.bytes, bytes);
        let (ids, ends) = (Arc::clone(&self.ids), Arc::clone(&self.ends));
        Arc::new(Page { bytes, ids, ends, deflated: Arc::clone(&self.deflated) })
    }

    /// The bytes as a gzip list sends them, if they have been compressed.
    pub fn deflated(&self) -> Option<&Deflated> {
        self.deflated.get()
    }

    /// The bytes as a gzip list sends them. The first call compresses them, which
    /// takes milliseconds, on a blocking thread; calls meanwhile wait for it.
    pub async fn deflate(self: Arc<Page>, memory: ListMemory) -> Result<Deflated, JoinError> {
        let compress = || {
            let bytes = self.bytes.clone();
            tokio::task::spawn_blocking(move || Deflated::of(&bytes, &memory))
        };
        self.deflated.get_or_try_init(compress).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use futures::future::join_all;

    #[tokio::test]
    async fn all_who_wait_share_one_compression() {
        let bytes = Bytes::from(b"{},".repeat(100_000));
        let page = Arc::new(Page::new(bytes, &[], &[]));
        let mut first = Box::pin(Arc::clone(&page).deflate(ListMemory::default()));
        assert!(first.as_mut().now_or_never().is_none());
        let others = tokio::spawn(join_all(
            (0..8).map(|_| Arc::clone(&page).deflate(ListMemory::default())),
        ));
        tokio::task::yield_now().await;
        // Whoever began it goes away.
        drop(first);
        let all = others.await.unwrap();
        let blocks = &page.deflated().unwrap().blocks;
        assert!(all.iter().all(|own| own.as_ref().unwrap().blocks.as_ptr() == blocks.as_ptr()));
    }
}
