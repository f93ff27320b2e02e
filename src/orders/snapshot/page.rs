//! A page: a run of encoded orders as they are sent.

use super::gzip::Deflated;
use super::mark::Mark;
use super::memory::ListMemory;
use crate::blocking::run_with;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinError;

/// A run of encoded orders. Besides the bytes it costs 14 bytes an order.
#[derive(Debug)]
pub struct Page {
    bytes: Bytes,
    orders: Arc<PageOrders>,
    /// Made when a gzip list first needs it. Shared by the pages of the same bytes.
    deflated: Arc<OnceCell<Deflated>>,
}

/// What a page knows of its orders, in ascending order of id.
#[derive(Clone, Debug, Default)]
pub struct PageOrders {
    /// Their ids.
    pub ids: Vec<i64>,
    /// Where each ends in the page's bytes. Each is preceded by `[` or `,`.
    pub ends: Vec<u32>,
    /// Their marks.
    pub marks: Vec<Mark>,
}

impl Page {
    /// These orders, encoded in these bytes.
    pub fn new(bytes: Bytes, orders: &PageOrders) -> Page {
        // A copy has no room to spare.
        Page { bytes, orders: Arc::new(orders.clone()), deflated: Arc::default() }
    }

    /// The bytes as they are sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The ids, in ascending order.
    pub fn ids(&self) -> &[i64] {
        &self.orders.ids
    }

    /// Where each order ends.
    pub fn ends(&self) -> &[u32] {
        &self.orders.ends
    }

    /// The mark of each order.
    pub fn marks(&self) -> &[Mark] {
        &self.orders.marks
    }

    /// The text of the order of this number in the page.
    pub fn order(&self, number: usize) -> Option<&[u8]> {
        let before = number.checked_sub(1).map(|before| self.ends().get(before));
        let start = before.map_or(Some(0), |end| end.map(|end| *end as usize))?;
        self.bytes.get(start + 1..*self.ends().get(number)? as usize)
    }

    /// Whether the array ends in this page.
    pub fn is_last(&self) -> bool {
        self.bytes.ends_with(b"]")
    }

    /// Whether an order of this id is in this page or in one before it.
    pub fn reaches(&self, id: i64) -> bool {
        self.ids().last().is_some_and(|last| *last >= id)
    }

    /// A page of these orders with other bytes around them.
    pub fn with_bytes(&self, bytes: Bytes) -> Arc<Page> {
        Arc::new(Page { bytes, orders: Arc::clone(&self.orders), deflated: Arc::default() })
    }

    /// This page with its bytes elsewhere in memory.
    pub fn moved_to(&self, bytes: Bytes) -> Arc<Page> {
        debug_assert_eq!(self.bytes, bytes);
        let (orders, deflated) = (Arc::clone(&self.orders), Arc::clone(&self.deflated));
        Arc::new(Page { bytes, orders, deflated })
    }

    /// The memory that it holds: its bytes, and those as gzip.
    pub fn held_bytes(&self) -> usize {
        self.bytes.len() + self.deflated().map_or(0, |deflated| deflated.blocks.len())
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
        Arc::new(Page::new(bytes, &PageOrders::default()))
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
