//! The whole list at one moment: pages that are built once and sent many times.
//!
//! Laid end to end, the pages of a snapshot are the JSON array: the first begins
//! with `[`, every other with `,`, and the last ends with `]`.

mod builder;
pub mod edit;
pub mod gzip;
mod mark;
mod memory;
mod page;
mod sent_list;
mod sizes;
mod tag;

pub use edit::Edit;
pub use mark::{Mark, MarkFilter};
pub use memory::{ListBytes, ListMemory};
pub use page::Page;
pub use sent_list::{CutOff, SentList};
pub use sizes::Sizes;
pub use tag::ListTag;

use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock, Weak};
use store_orders_api::v2::OrderStatus;

/// The array without orders.
const EMPTY: &[u8] = b"[]";

/// The whole list at one moment. It never changes; a response holds the one that it
/// sends.
#[derive(Debug)]
pub struct Snapshot {
    pages: Vec<Arc<Page>>,
    /// The pages in one buffer, of which they are slices.
    joined: Option<Bytes>,
    length: usize,
    sizes: Sizes,
    memory: ListMemory,
    /// The last change of the store that it reflects.
    change_number: i64,
    /// Computed for the first list.
    tag: OnceLock<ListTag>,
    /// Shared by the responses that send it.
    sent: Mutex<Weak<SentList>>,
}

/// How far a snapshot has been sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListPosition {
    part: usize,
    /// In this part.
    offset: usize,
}

impl Snapshot {
    /// The list of these pages.
    pub fn new(mut pages: Vec<Arc<Page>>, sizes: Sizes, memory: ListMemory) -> Snapshot {
        pages.shrink_to_fit();
        let joined = match pages.as_slice() {
            [] => Some(Bytes::from_static(EMPTY)),
            [page] => Some(page.bytes().clone()),
            _ => None,
        };
        let of_pages = || pages.iter().map(|page| page.bytes().len()).sum();
        let length = joined.as_ref().map_or_else(of_pages, Bytes::len);
        Snapshot {
            pages,
            joined,
            length,
            sizes,
            memory,
            change_number: 0,
            tag: OnceLock::new(),
            sent: Mutex::default(),
        }
    }

    /// This list, as it reflects the store up to this change.
    pub fn at_change(self, change_number: i64) -> Snapshot {
        Snapshot { change_number, ..self }
    }

    /// Its entity tags, in this history of the store.
    pub fn tag(&self, history: u64) -> ListTag {
        let new = || ListTag::new(history, self.change_number);
        let tag = self.tag.get_or_init(new);
        // After a failover the numbers may go on unchanged in another history.
        if tag.history() == history { tag.clone() } else { new() }
    }

    /// The list without orders.
    pub fn empty(sizes: Sizes, memory: ListMemory) -> Snapshot {
        Snapshot::new(Vec::new(), sizes, memory)
    }

    /// The list without orders, of the same sizes and in the same memory's account.
    pub fn emptied(&self) -> Snapshot {
        Snapshot::empty(self.sizes, self.memory.clone())
    }

    /// The pages, in the order of the list.
    pub fn pages(&self) -> &[Arc<Page>] {
        &self.pages
    }

    /// The array as it is sent: in one buffer if it is joined, or page by page.
    pub fn parts(&self) -> impl Iterator<Item = &Bytes> {
        (0..).map_while(|number| self.part(number))
    }

    fn part(&self, number: usize) -> Option<&Bytes> {
        match &self.joined {
            Some(joined) => Some(joined).filter(|_| number == 0),
            None => self.pages.get(number).map(|page| page.bytes()),
        }
    }

    /// The bytes of the turn at this position, which advances; none at the end.
    pub fn next_turn(&self, position: &mut ListPosition) -> Option<Bytes> {
        let part = self.part(position.part)?;
        let end = part.len().min(position.offset + self.sizes.turn_bytes);
        let turn = part.slice(position.offset..end);
        *position = if end < part.len() {
            ListPosition { offset: end, ..*position }
        } else {
            ListPosition { part: position.part + 1, offset: 0 }
        };
        Some(turn)
    }

    /// Counts the buffers of lists.
    pub fn memory(&self) -> &ListMemory {
        &self.memory
    }

    /// Replaces the old snapshot as the current one, which clients may still read.
    pub fn replace(self: &Arc<Self>, old: Arc<Snapshot>) {
        self.memory.replace(old, self);
    }

    /// The memory that its pages hold, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.pages.iter().map(|page| page.held_bytes()).sum()
    }

    /// The memory of the pages that another snapshot has not. No page comes back into the list once
    /// it is out of it.
    pub fn bytes_missing_in(&self, newer: &Snapshot) -> usize {
        let address = |page: &Arc<Page>| page.bytes().as_ptr().addr();
        let newer: HashSet<usize> = newer.pages.iter().map(address).collect();
        let missing = self.pages.iter().filter(|page| !newer.contains(&address(page)));
        missing.map(|page| page.held_bytes()).sum()
    }

    /// The numbers of pending and of shipped orders.
    pub fn pending_and_shipped(&self) -> (usize, usize) {
        let marks = || self.pages.iter().flat_map(|page| page.marks());
        let shipped = marks().filter(|mark| mark.status() == OrderStatus::Shipped).count();
        (marks().count() - shipped, shipped)
    }

    /// The array in one buffer, if it is joined.
    pub fn joined_bytes(&self) -> Option<Bytes> {
        self.joined.clone()
    }

    /// Length of the array in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Length of the array as gzip, if all pages are compressed.
    pub fn gzip_length(&self) -> Option<usize> {
        let blocks = self.pages.iter().map(|page| Some(page.deflated()?.blocks.len()));
        blocks.sum::<Option<usize>>().map(gzip::length)
    }

    /// The sizes of its parts.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// This list in one buffer, which is sent faster than pages; none if it is in one already, or
    /// too long.
    pub fn joined(&self) -> Option<Snapshot> {
        if self.joined.is_some() || self.length > self.sizes.joined_bytes {
            return None;
        }
        let mut buffer = Vec::with_capacity(self.length);
        self.pages.iter().for_each(|page| buffer.extend_from_slice(page.bytes()));
        let joined = self.memory.hold(buffer);
        let mut end = 0;
        let pages = self.pages.iter().map(|page| {
            let start = end;
            end += page.bytes().len();
            page.moved_to(joined.slice(start..end))
        });
        let pages = pages.collect();
        let (joined, memory, sent) = (Some(joined), self.memory.clone(), Mutex::default());
        Some(Snapshot { pages, joined, memory, tag: self.tag.clone(), sent, ..*self })
    }

    /// The pages from the one on that has this id, or would have it.
    pub fn pages_from(&self, id: i64) -> &[Arc<Page>] {
        self.pages.get(self.page_of(id)..).unwrap_or_default()
    }

    /// The number of pages that these ascending ids belong to.
    pub fn pages_of(&self, ids: &[i64]) -> usize {
        ids.chunk_by(|one, next| self.page_of(*one) == self.page_of(*next)).count()
    }

    fn page_of(&self, id: i64) -> usize {
        self.pages.partition_point(|page| !page.reaches(id))
    }
}

#[cfg(test)]
mod tests {
    use super::edit::tests::{SMALL, edited, snapshot, text};
    use super::*;

    #[test]
    fn no_orders_are_an_empty_array() {
        let empty = Snapshot::empty(SMALL, ListMemory::default());
        assert_eq!(text(&empty), "[]");
        assert_eq!(text(&edited(&empty, [])), "[]");
    }

    #[tokio::test]
    async fn a_joined_list_holds_its_bytes_once() {
        let list = snapshot(200);
        assert!(list.parts().count() > 1);
        let permits = Arc::new(tokio::sync::Semaphore::new(1));
        let deflated =
            Arc::clone(&list.pages()[0]).deflate(ListMemory::default(), permits).await.unwrap();
        let joined = list.joined().unwrap();
        assert_eq!(joined.parts().count(), 1);
        assert_eq!(text(&joined), text(&list));
        let whole = joined.parts().next().unwrap().as_ptr_range();
        for page in joined.pages() {
            assert!(whole.contains(&page.bytes().as_ptr()));
        }
        let page = joined.pages()[0].deflated().unwrap();
        assert_eq!(page.blocks.as_ptr(), deflated.blocks.as_ptr());
        assert!(joined.joined().is_none());
    }

    #[test]
    fn a_list_of_just_the_length_is_joined() {
        let mut list = snapshot(200);
        list.sizes.joined_bytes = list.length();
        let joined = list.joined().unwrap();
        assert_eq!(joined.joined_bytes().map(|bytes| bytes.len()), Some(list.length()));
        list.sizes.joined_bytes -= 1;
        assert!(list.joined().is_none());
    }

    #[test]
    fn a_long_list_is_not_joined() {
        assert!(snapshot(200).joined().is_some());
        assert!(snapshot(1_000).joined().is_none());
    }

    #[test]
    fn pages_of_ids_are_counted_once() {
        let list = snapshot(1_000);
        assert_eq!(list.pages_of(&[]), 0);
        assert_eq!(list.pages_of(&[500]), 1);
        assert_eq!(list.pages_of(&[-1, 0, 1, 2, 998, 999, 1_000]), 3);
    }
}
