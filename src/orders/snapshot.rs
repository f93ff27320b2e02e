//! An immutable list of all orders, in pages that are encoded once and sent many times.
//!
//! Lists are requested often, may have a million orders, and change with every cancellation.
//! Encoding the list for each request is too slow. One buffer with the encoded list is fast to
//! send, but a cancellation in the middle copies all of it, and responses to slow clients keep each
//! old copy in memory.
//!
//! So a snapshot is a sequence of pages of up to 248 KiB. An [`Edit`] creates the next snapshot.
//! The edit shares unchanged pages with the old snapshot. In a changed page, the edit encodes only
//! the orders that were read from the store, and copies the bytes of all others. Responses that
//! have begun continue to send the old snapshot, while later requests get the new one.
//!
//! The size of the pages was measured. A list of 10,000 orders was sent 8,000 times a second in
//! pages of 100 orders, but 17,500 times in pages about as large as today's. Larger pages would
//! slow down other work, because a page is copied when one of its orders changes, and is compressed
//! as a whole. Compressing a page takes 1 to 2 ms. A page is compressed only when a gzip response
//! needs the page, so that no cancellation waits. [`Sizes`] has the sizes.
//!
//! What is always true:
//!
//! - The pages' bytes, one after the other, are version 1's JSON array. The first page begins with
//!   `[`, each other page with `,`, and the last ends with `]`. `PagesBuilder` adds or removes a
//!   `]` without encoding the page again ([`Page::with_bytes`]), and copies a page whose first byte
//!   must change.
//! - Ids ascend through all pages, because an edit applies changes in ascending order of id, each
//!   id once. So [`Snapshot::pages_from`] finds the page of an order by binary search.
//! - A page's content never changes, so all snapshots that have the page share its compressed bytes
//!   and its JSON in version 2. Pages are compressed on first use. JSON in version 2 is encoded on
//!   first use too, but once version 2 is in use, each edit encodes it for changed pages.
//! - The entity tag of version 1's list depends only on the JSON of its orders ([`ContentHash`]),
//!   so the tag is the same on every replica and after a restart.
//!
//! What happens when something fails:
//!
//! - Clients read slowly while orders change: old snapshots stay in memory, up to a number of
//!   bytes. Beyond it, responses with the oldest snapshots are cut off, and their clients get a
//!   broken body (`sending.rs`).
//! - A client disconnects while a page is being compressed: the compression continues, because
//!   other responses may need it.
//! - A page shrinks because many of its orders were removed: the edit merges the page with the next
//!   page if both fit into one.
//!
//! The tag was once made from the change number, the store's id, and PostgreSQL's timeline and
//! start time. That tag changed in every failover and restart of PostgreSQL, although the list did
//! not.

mod builder;
pub mod edit;
mod encoded;
pub mod gzip;
mod page;
mod sizes;
mod tag;

pub use edit::Edit;
pub use page::Page;
pub use sizes::Sizes;
use tag::ContentHash;
pub use tag::{order_tag, page_tag};

use crate::store::OrderStatus;
use bytes::Bytes;
use http::HeaderValue;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

const EMPTY: &[u8] = b"[]";

/// The whole list of orders at one moment. It is immutable, so all responses that send the list
/// share it.
#[derive(Debug)]
pub struct Snapshot {
    pages: Vec<Arc<Page>>,
    length: usize,
    /// The list's memory in bytes, computed when the list is created. Includes `joined` of a short
    /// list, although `joined` is created later. Excludes what pages add later: compressed bytes,
    /// and JSON of version 2.
    held_bytes: usize,
    /// The number of uncompressed responses that have begun to send the list. The second response
    /// joins the pages. Only short lists of several pages count responses; for other lists, the
    /// field stays 0.
    plain_responses: AtomicUsize,
    /// The JSON array of a short list in one buffer, created for the second uncompressed response.
    joined: OnceLock<Bytes>,
    sizes: Sizes,
    content: ContentHash,
    tag: HeaderValue,
}

impl Snapshot {
    pub fn new(mut pages: Vec<Arc<Page>>, sizes: Sizes, content: ContentHash) -> Snapshot {
        pages.shrink_to_fit();
        let total = || pages.iter().map(|page| page.bytes.len()).sum();
        let length = if pages.is_empty() { EMPTY.len() } else { total() };
        let joined_bytes = if length <= sizes.short_list_bytes { length } else { 0 };
        let held_bytes = pages.iter().map(|page| page.held_bytes()).sum::<usize>() + joined_bytes;
        Snapshot {
            pages,
            length,
            held_bytes,
            plain_responses: AtomicUsize::new(0),
            joined: OnceLock::new(),
            sizes,
            content,
            tag: content.tag(),
        }
    }

    pub fn tag(&self) -> &HeaderValue {
        &self.tag
    }

    pub fn empty(sizes: Sizes) -> Snapshot {
        Snapshot::new(Vec::new(), sizes, ContentHash::default())
    }

    pub fn to_empty(&self) -> Snapshot {
        Snapshot::empty(self.sizes)
    }

    pub fn pages(&self) -> &[Arc<Page>] {
        &self.pages
    }

    /// Returns the number of bytes that this snapshot held when it was created. Includes pages that
    /// other snapshots share.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub fn pending_and_shipped(&self) -> (usize, usize) {
        let orders = || self.pages.iter().flat_map(|page| page.orders());
        let shipped = orders().filter(|order| order.status == OrderStatus::Shipped).count();
        (orders().count() - shipped, shipped)
    }

    /// Returns the JSON array of all orders in one buffer. Returns `None` if the list has more than
    /// one page.
    pub fn whole(&self) -> Option<Bytes> {
        match self.pages.as_slice() {
            [] => Some(Bytes::from_static(EMPTY)),
            [page] => Some(page.bytes.clone()),
            _ => None,
        }
    }

    /// Returns the JSON array in one buffer. Returns `None` if the list is long, or for the first
    /// uncompressed response.
    ///
    /// For 10,000 orders, one buffer is sent 1.18 times as fast as pages. For a snapshot that is
    /// sent only once, joining the pages would cost more than it saves.
    pub fn join_unless_first(&self) -> Option<Bytes> {
        if self.length > self.sizes.short_list_bytes
            || self.plain_responses.fetch_add(1, Ordering::Relaxed) == 0
        {
            return None;
        }
        let join = || {
            let mut buffer = Vec::with_capacity(self.length);
            self.pages.iter().for_each(|page| buffer.extend_from_slice(&page.bytes));
            Bytes::from(buffer)
        };
        Some(self.joined.get_or_init(join).clone())
    }

    /// Returns the length of the JSON array in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the length of the JSON array as gzip, in bytes. Returns `None` if a page is not
    /// compressed yet.
    pub fn gzip_length(&self) -> Option<usize> {
        let blocks = self.pages.iter().map(|page| Some(page.deflated()?.blocks.len()));
        blocks.sum::<Option<usize>>().map(gzip::length)
    }

    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Returns the first page whose last id is `id` or higher, and all later pages.
    pub fn pages_from(&self, id: i64) -> &[Arc<Page>] {
        self.pages.get(self.page_of(id)..).unwrap_or_default()
    }

    /// Counts the pages of these ascending ids. Ids above the list's last id count as one
    /// additional page.
    pub fn pages_of(&self, ids: &[i64]) -> usize {
        ids.chunk_by(|one, next| self.page_of(*one) == self.page_of(*next)).count()
    }

    fn page_of(&self, id: i64) -> usize {
        self.pages.partition_point(|page| !page.reaches(id))
    }
}

#[cfg(test)]
mod tests {
    use super::edit::tests::{SMALL, apply_changes, snapshot, text};
    use super::*;

    #[test]
    fn a_list_without_orders_is_an_empty_array() {
        let empty = Snapshot::empty(SMALL);
        assert_eq!(text(&empty), "[]");
        assert_eq!(text(&apply_changes(&empty, [])), "[]");
    }

    #[test]
    fn short_lists_are_joined_for_the_second_response() {
        let short = snapshot(200);
        assert!(short.pages().len() > 1 && short.join_unless_first().is_none());
        let [second, third] = [(); 2].map(|()| short.join_unless_first().unwrap());
        assert_eq!(second, text(&short));
        assert_eq!(second.as_ptr(), third.as_ptr());
        let long = snapshot(1_000);
        assert!([(); 3].map(|()| long.join_unless_first()).iter().all(Option::is_none));
    }

    #[test]
    fn a_page_with_several_ids_is_counted_once() {
        let list = snapshot(1_000);
        assert_eq!(list.pages_of(&[]), 0);
        assert_eq!(list.pages_of(&[500]), 1);
        assert_eq!(list.pages_of(&[-1, 0, 1, 2, 998, 999, 1_000]), 3);
    }
}
