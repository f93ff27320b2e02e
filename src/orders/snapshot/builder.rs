//! Builds the pages of a snapshot from orders that are encoded already.

use super::page::{Page, PageOrders};
use super::tag::ContentHash;
use super::{Sizes, Snapshot};
use crate::store::Order;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Builds the pages of a snapshot in order.
#[derive(Debug)]
pub struct PagesBuilder {
    sizes: Sizes,
    pages: Vec<Arc<Page>>,
    bytes: Vec<u8>,
    orders: PageOrders,
}

impl PagesBuilder {
    /// Creates a builder without pages.
    pub fn new(sizes: Sizes) -> PagesBuilder {
        PagesBuilder { sizes, pages: Vec::new(), bytes: Vec::new(), orders: PageOrders::default() }
    }

    /// Adds an order and its JSON.
    pub fn push(&mut self, order: Order, json: &[u8]) {
        self.begin_order(json.len());
        self.bytes.extend_from_slice(json);
        self.orders.ends.push(self.bytes.len() as u32);
        self.orders.orders.push(order);
    }

    /// Adds a range of a page's orders. `start` is the byte where the order before the range ends.
    pub fn push_run(&mut self, page: &Page, range: Range<usize>, start: usize) {
        let orders = page.orders().get(range.clone()).unwrap_or_default();
        let ends = page.ends().get(range).unwrap_or_default();
        let Some(end) = ends.last().map(|end| *end as usize) else { return };
        let Some(run) = page.bytes.get(start + 1..end) else { return };
        self.begin_order(run.len());
        let shift = self.bytes.len().wrapping_sub(start + 1);
        self.bytes.extend_from_slice(run);
        self.orders.orders.extend_from_slice(orders);
        self.orders.ends.extend(ends.iter().map(|end| (*end as usize).wrapping_add(shift) as u32));
    }

    /// Adds a whole page. Copies its orders if they fit into the page that is being filled, or if
    /// the added page does not begin with the right separator. Otherwise shares the added page.
    pub fn push_page(&mut self, page: &Arc<Page>) {
        let fits = self.bytes.len() + page.bytes.len() < self.sizes.page_bytes;
        if self.orders.orders.is_empty() || !fits {
            self.close_page();
            if page.bytes.first() == Some(&self.separator()) {
                return self.add(Arc::clone(page));
            }
        }
        self.push_run(page, 0..page.orders().len(), 0);
    }

    /// Ends the JSON array and returns the snapshot. `content` is the hash of its orders.
    pub fn finish(mut self, content: ContentHash) -> Snapshot {
        if !self.orders.orders.is_empty() {
            self.bytes.push(b']');
            self.close_page();
        }
        if let Some(last) = self.pages.last_mut()
            && !last.is_last()
        {
            *last = last.with_bytes([&last.bytes, &b"]"[..]].concat().into());
        }
        Snapshot::new(self.pages, self.sizes, content)
    }

    /// Makes room for orders of this total length, and adds the separator before them.
    fn begin_order(&mut self, bytes: usize) {
        if self.bytes.len() + 1 + bytes >= self.sizes.page_bytes {
            self.close_page();
        }
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(self.sizes.page_bytes);
        }
        self.bytes.push(self.separator());
    }

    fn separator(&self) -> u8 {
        if self.pages.is_empty() && self.orders.orders.is_empty() { b'[' } else { b',' }
    }

    /// Completes the page that is being filled.
    fn close_page(&mut self) {
        if self.orders.orders.is_empty() {
            return;
        }
        // A page that is nearly full keeps its buffer without a copy, because at most an eighth of
        // the buffer is unused.
        let bytes = if self.bytes.len() > self.sizes.page_bytes / 8 * 7 {
            std::mem::take(&mut self.bytes)
        } else {
            self.bytes.clone()
        };
        let page = Page::new(Bytes::from(bytes), &self.orders);
        self.bytes.clear();
        self.orders.orders.clear();
        self.orders.ends.clear();
        self.add(Arc::new(page));
    }

    /// Adds a page. Removes the `]` from the page before it, if that page was the last of a list.
    fn add(&mut self, page: Arc<Page>) {
        if let Some(before) = self.pages.last_mut()
            && before.is_last()
        {
            *before = before.with_bytes(before.bytes.slice(..before.bytes.len() - 1));
        }
        self.pages.push(page);
    }
}
