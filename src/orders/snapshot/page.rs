//! A page of a snapshot: consecutive orders, and their JSON in each version of the API.

use super::encoded::{Encoded, EncodedOrders};
use super::gzip::Deflated;
use crate::blocking::spawn_blocking_with_permit;
use crate::store::Order;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};
use store_orders_api::v2;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinError;

/// The memory that an order takes in addition to its JSON. The `u32` is the order's entry in
/// `v1_ends`.
const ORDER_BYTES: usize = size_of::<Order>() + size_of::<u32>();

#[derive(Debug)]
pub struct Page {
    /// The JSON as version 1 sends it.
    pub bytes: Bytes,
    orders: Arc<PageOrders>,
    /// The compressed bytes, once a gzip response has needed them.
    deflated: OnceCell<Deflated>,
}

/// The orders of a page. The page and its copies from [`Page::with_bytes`] share them.
#[derive(Debug, Default)]
pub struct PageOrders {
    /// The orders, in ascending order of id.
    pub orders: Vec<Order>,
    /// For each order, the offset in `Page::bytes` at which the order's JSON in version 1 ends.
    pub v1_ends: Vec<u32>,
    /// The JSON in version 2. Takes no memory until version 2 is used.
    pub v2: OnceLock<Encoded>,
}

impl Page {
    pub fn new(bytes: Bytes, orders: PageOrders) -> Page {
        Page { bytes, orders: Arc::new(orders), deflated: OnceCell::new() }
    }

    pub fn orders(&self) -> &[Order] {
        &self.orders.orders
    }

    pub fn v1(&self) -> EncodedOrders<'_> {
        EncodedOrders { bytes: &self.bytes, ends: &self.orders.v1_ends }
    }

    /// Returns the orders' JSON in version 2. If necessary, encodes the orders, which takes less
    /// than a millisecond.
    pub fn v2(&self) -> EncodedOrders<'_> {
        let encode = || Encoded::new(self.orders().iter().map(v2::Order::from));
        self.orders.v2.get_or_init(encode).orders()
    }

    pub fn has_v2(&self) -> bool {
        self.orders.v2.get().is_some()
    }

    /// True if the JSON array of the list ends in this page.
    pub fn is_last(&self) -> bool {
        self.bytes.ends_with(b"]")
    }

    /// True if the page's last id is `id` or higher. The order `id` is then not on a later page.
    pub fn reaches(&self, id: i64) -> bool {
        self.orders().last().is_some_and(|last| last.id >= id)
    }

    /// Creates a page with the same orders but with these bytes. Each order must be at the same
    /// offset in both pages.
    pub fn with_bytes(&self, bytes: Bytes) -> Arc<Page> {
        Arc::new(Page { bytes, orders: Arc::clone(&self.orders), deflated: OnceCell::new() })
    }

    /// Returns the page's memory in bytes. Includes the JSON in version 2 and the compressed bytes
    /// only if the page already has them.
    pub fn held_bytes(&self) -> usize {
        let compressed = self.deflated().map_or(0, |deflated| deflated.blocks.len());
        let v2 = self.orders.v2.get().map_or(0, Encoded::held_bytes);
        self.bytes.len() + v2 + compressed + self.orders().len() * ORDER_BYTES
    }

    pub fn deflated(&self) -> Option<&Deflated> {
        self.deflated.get()
    }

    /// Returns the compressed bytes. The first call acquires one of the permits and compresses the
    /// page on a blocking thread, which takes milliseconds. Concurrent calls wait for the result.
    pub async fn deflate(self: Arc<Page>, permits: Arc<Semaphore>) -> Result<Deflated, JoinError> {
        let bytes = self.bytes.clone();
        let compress = || async move {
            // Acquiring a permit cannot fail, because the semaphore is never closed.
            let permit = permits.acquire_owned().await;
            spawn_blocking_with_permit(permit, move || Deflated::compress(&bytes)).await
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
        let bytes = Bytes::from(b"{},".repeat(100_000));
        Arc::new(Page::new(bytes, PageOrders::default()))
    }

    #[tokio::test]
    async fn a_page_is_compressed_when_a_permit_is_free() {
        let (page, permits) = (page(), Arc::new(Semaphore::new(1)));
        let last_permit = permits.clone().try_acquire_owned().unwrap();
        let deflate = Arc::clone(&page).deflate(Arc::clone(&permits));
        let mut waiting = Box::pin(deflate);
        tokio::time::timeout(Duration::from_millis(100), &mut waiting).await.unwrap_err();
        drop(last_permit);
        waiting.await.unwrap();
        assert!(page.deflated().is_some());
    }

    #[tokio::test]
    async fn concurrent_calls_share_one_compression() {
        let (page, permits) = (page(), Arc::new(Semaphore::new(8)));
        let deflate = || Arc::clone(&page).deflate(Arc::clone(&permits));
        let mut first = Box::pin(deflate());
        assert!(first.as_mut().now_or_never().is_none());
        let others = tokio::spawn(join_all((0..8).map(|_| deflate())));
        tokio::task::yield_now().await;
        // The call that began the compression is dropped, so another call must compress the page.
        drop(first);
        let all = others.await.unwrap();
        let blocks = &page.deflated().unwrap().blocks;
        assert!(
            all.iter().all(|result| result.as_ref().unwrap().blocks.as_ptr() == blocks.as_ptr())
        );
    }
}
