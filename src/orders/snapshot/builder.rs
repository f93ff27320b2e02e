//! Builds the pages of a snapshot from encoded orders, and from pages of an older snapshot.

use super::encoded::Encoded;
use super::page::{Page, PageOrders};
use super::tag::ContentHash;
use super::{Sizes, Snapshot};
use crate::store::Order;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use store_orders_api::v2;

#[derive(Debug)]
pub struct PagesBuilder {
    sizes: Sizes,
    pages: Vec<Arc<Page>>,
    orders: Vec<Order>,
    v1: Encoded,
    /// The current page's JSON for version 2 of the API. If `None`, the first request that needs
    /// the JSON creates it.
    v2: Option<Encoded>,
}

impl PagesBuilder {
    /// Creates a builder. If `encodes_v2` is false, a page is encoded in version 2 when a request
    /// first needs it.
    pub fn new(sizes: Sizes, encodes_v2: bool) -> PagesBuilder {
        let v2 = encodes_v2.then(Encoded::default);
        PagesBuilder { sizes, pages: Vec::new(), orders: Vec::new(), v1: Encoded::default(), v2 }
    }

    pub fn push(&mut self, order: Order, json: &[u8]) {
        let separator = self.begin_order(json.len());
        self.v1.push(separator, json);
        if let Some(v2) = &mut self.v2 {
            v2.encode(b',', &v2::Order::from(&order));
        }
        self.orders.push(order);
    }

    /// Adds a range of a page's orders. Copies their JSON instead of encoding it again.
    pub fn push_run(&mut self, page: &Page, range: Range<usize>) {
        let orders = page.orders().get(range.clone()).unwrap_or_default();
        let Some(run) = page.v1().run(range.clone()) else { return };
        let separator = self.begin_order(run.len());
        self.orders.extend_from_slice(orders);
        if let Some(v2) = &mut self.v2 {
            v2.push_run(b',', page.v2(), range.clone());
        }
        self.v1.push_run(separator, page.v1(), range);
    }

    /// Adds a whole page. Shares the page if possible.
    ///
    /// Copies the orders if they fit into the unfinished page. Also copies them if the page begins
    /// with the wrong separator. The first page of a list begins with `[`, and every other page
    /// begins with `,`.
    pub fn push_page(&mut self, page: &Arc<Page>) {
        let fits = self.v1.bytes.len() + page.bytes.len() < self.sizes.page_bytes;
        if self.orders.is_empty() || !fits {
            self.close_page();
            if page.bytes.first() == Some(&self.separator()) {
                return self.add(Arc::clone(page));
            }
        }
        self.push_run(page, 0..page.orders().len());
    }

    /// Ends the JSON array and returns the snapshot. `content` is the hash of its orders.
    pub fn finish(mut self, content: ContentHash) -> Snapshot {
        if !self.orders.is_empty() {
            self.v1.bytes.push(b']');
            self.close_page();
        }
        if let Some(last) = self.pages.last_mut()
            && !last.is_last()
        {
            *last = last.with_bytes([&last.bytes, &b"]"[..]].concat().into());
        }
        Snapshot::new(self.pages, self.sizes, content)
    }

    fn begin_order(&mut self, bytes: usize) -> u8 {
        if self.v1.bytes.len() + 1 + bytes >= self.sizes.page_bytes {
            self.close_page();
        }
        if self.v1.bytes.capacity() == 0 {
            self.v1.bytes.reserve_exact(self.sizes.page_bytes);
        }
        self.separator()
    }

    fn separator(&self) -> u8 {
        if self.pages.is_empty() && self.orders.is_empty() { b'[' } else { b',' }
    }

    fn close_page(&mut self) {
        if self.orders.is_empty() {
            return;
        }
        // Move a nearly full buffer instead of copying it. A copy without spare capacity would save
        // at most an eighth of the buffer.
        let bytes = if self.v1.bytes.len() > self.sizes.page_bytes / 8 * 7 {
            std::mem::take(&mut self.v1.bytes)
        } else {
            self.v1.bytes.clone()
        };
        // Clone these buffers instead of moving them, because a clone has no spare capacity.
        let orders = PageOrders {
            orders: self.orders.clone(),
            v1_ends: self.v1.ends.clone(),
            v2: self.v2.clone().map(Into::into).unwrap_or_default(),
        };
        self.orders.clear();
        self.v1.clear();
        if let Some(v2) = &mut self.v2 {
            v2.clear();
        }
        self.add(Arc::new(Page::new(Bytes::from(bytes), orders)));
    }

    /// Adds a page. A preceding page that was reused from the end of an older list loses its `]`.
    fn add(&mut self, page: Arc<Page>) {
        if let Some(before) = self.pages.last_mut()
            && before.is_last()
        {
            *before = before.with_bytes(before.bytes.slice(..before.bytes.len() - 1));
        }
        self.pages.push(page);
    }
}
