//! A page: a run of encoded orders as they are sent.

use super::gzip::Deflated;
use super::memory::{Buffer, ListMemory};
use crate::blocking::run_with;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinError;

/// A run of encoded orders. Besides the bytes it costs 12 bytes an order.
#[derive(Debug)]
pub struct Page {
    bytes: Buffer,
    ids: Arc<[i64]>,
    /// Where each order ends in `bytes`. Each is preceded by `[` or `,`.
    ends: Arc<[u32]>,
    /// Compressed when a gzip list first needs it.
    deflated: Arc<OnceCell<Deflated>>,
}

impl Page {
    /// Orders of these ids, encoded in these bytes, where each ends here.
    pub fn new(bytes: Buffer, ids: &[i64], ends: &[u32]) -> Page {
        Page { bytes, ids: ids.into(), ends: ends.into(), deflated: Arc::default() }
    }

    /// The bytes as they are sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes with their count.
    pub fn buffer(&self) -> &Buffer {
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
    pub fn with_bytes(&self, bytes: Buffer) -> Arc<Page> {
        let (ids, ends) = (Arc::clone(&self.ids), Arc::clone(&self.ends));
        Arc::new(Page { bytes, ids, ends, deflated: Arc::default() })
    }

    /// The same page with its bytes elsewhere in memory.
    pub fn moved_to(&self, bytes: Buffer) -> Arc<Page> {
        debug_assert_eq!(*self.bytes, *bytes);
        let (ids, ends) = (Arc::clone(&self.ids), Arc::clone(&self.ends));
        Arc::new(Page { bytes, ids, ends, deflated: Arc::clone(&self.deflated) })
    }

    /// The bytes as a gzip list sends them, if they have been compressed.
    pub fn deflated(&self) -> Option<&Deflated> {
        self.deflated.get()
    }

    /// The bytes as a gzip list sends them. The first call compresses them, which
    /// takes milliseconds, on a blocking thread with one of these permits; calls meanwhile
    /// wait for it.
    pub async fn deflate(
        self: Arc<Page>,
        memory: ListMemory,
        permits: Arc<Semaphore>,
    ) -> Result<Deflated, JoinError> {
        let bytes = self.bytes.clone();
        let compress = || async move {
            // Never closed.
            let permit = permits.acquire_owned().await;
            run_with(permit, move || Deflated::of(&bytes, &memory)).await
        };
        self.deflated.get_or_try_init(compress).await.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use futures::future::join_all;
    use std::time::Duration;

    fn page() -> Arc<Page> {
        let bytes = ListMemory::default().hold(b"{},".repeat(100_000));
        Arc::new(Page::new(bytes, &[], &[]))
    }

    #[tokio::test]
    async fn a_page_is_compressed_once_there_is_a_permit() {
        let (page, permits) = (page(), Arc::new(Semaphore::new(1)));
        let taken = permits.clone().try_acquire_owned().unwrap();
        let deflate = Arc::clone(&page).deflate(ListMemory::default(), Arc::clone(&permits));
        let mut waiting = Box::pin(deflate);
        tokio::time::timeout(Duration::from_millis(100), &mut waiting).await.unwrap_err();
        drop(taken);
        waiting.await.unwrap();
        assert!(page.deflated().is_some());
    }

    #[tokio::test]
    async fn all_who_wait_share_one_compression() {
        let (page, permits) = (page(), Arc::new(Semaphore::new(8)));
        let deflate = || Arc::clone(&page).deflate(ListMemory::default(), Arc::clone(&permits));
        let mut first = Box::pin(deflate());
        assert!(first.as_mut().now_or_never().is_none());
        let others = tokio::spawn(join_all((0..8).map(|_| deflate())));
        tokio::task::yield_now().await;
        // The one that began it goes away.
        drop(first);
        let all = others.await.unwrap();
        let blocks = &page.deflated().unwrap().blocks;
        assert!(all.iter().all(|own| own.as_ref().unwrap().blocks.as_ptr() == blocks.as_ptr()));
    }
}
