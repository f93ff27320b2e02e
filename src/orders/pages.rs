//! The encoded list: pages of JSON that are built once and sent many times.
//!
//! Laid end to end, the pages of a snapshot are the JSON array: the first begins
//! with `[`, every other with `,`, and the last ends with `]`. An order is encoded
//! when its row is read, and never again: when others come or go, its bytes are
//! copied to a new page.

use super::gzip::Deflated;
use crate::store::{ListedOrder, OrderChange};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// What a segment carries on the loopback, where a proxy on the same machine asks:
/// the longest IPv4 packet less 52 bytes of headers. In pages of 192 KiB, which
/// leave a small segment over each time, a list of a million orders took a fifth
/// more of the processor.
pub const SEGMENT: usize = 65_483;

/// How large a page grows, with the end of the array: about 3,300 orders. A page
/// is what is sent at once, and what is copied when an order in it goes. Of 1, 2,
/// 3, 4, 6 and 12 segments, 4 served lists of 10,000 and of 1,000,000 orders, and
/// cancellations beside them, best. Tests want many pages of few orders.
const PAGE_BYTES: usize = if cfg!(test) { SEGMENT } else { 4 * SEGMENT };

/// A page with so many bytes may keep the room of a whole one: an eighth more at
/// most, and its bytes are copied once less.
const FULL: usize = PAGE_BYTES / 8 * 7;

/// The array without orders.
const EMPTY: &[u8] = b"[]";

/// A run of encoded orders. Besides the bytes it costs 12 bytes an order.
#[derive(Debug)]
pub struct Page {
    bytes: Bytes,
    ids: Arc<[i64]>,
    /// Where each order ends in `bytes`. Each is preceded by `[` or `,`.
    ends: Arc<[u32]>,
    /// Compressed when a gzip list first needs it.
    deflated: OnceLock<Deflated>,
}

impl Page {
    /// The bytes as they are sent.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes as a gzip list sends them, if they have been compressed.
    pub fn deflated(&self) -> Option<&Deflated> {
        self.deflated.get()
    }

    /// Compresses the bytes, once. Takes milliseconds: not for an async thread.
    pub fn deflate(&self) -> &Deflated {
        self.deflated.get_or_init(|| Deflated::of(&self.bytes))
    }

    fn is_last(&self) -> bool {
        self.bytes.ends_with(b"]")
    }

    /// The same orders with other bytes around them.
    fn with_bytes(&self, bytes: Bytes) -> Arc<Page> {
        let (ids, ends) = (Arc::clone(&self.ids), Arc::clone(&self.ends));
        Arc::new(Page { bytes, ids, ends, deflated: OnceLock::new() })
    }
}

/// The whole list at one moment. It never changes; whoever sends it holds it.
#[derive(Debug, Default)]
pub struct Snapshot {
    pages: Vec<Arc<Page>>,
}

impl Snapshot {
    /// The pages, in the order of the list.
    pub fn pages(&self) -> &[Arc<Page>] {
        &self.pages
    }

    /// The part of this number as it is sent: a page, or the array without
    /// orders; none past the last.
    pub fn part(&self, number: usize) -> Option<Bytes> {
        match self.pages.get(number) {
            Some(page) => Some(page.bytes.clone()),
            None if self.pages.is_empty() && number == 0 => Some(Bytes::from_static(EMPTY)),
            None => None,
        }
    }

    /// In how many pages these ids are, or would be; they ascend.
    pub fn pages_of(&self, ids: &[i64]) -> usize {
        let pages = ids.chunk_by(|one, next| self.page_of(*one) == self.page_of(*next));
        pages.count()
    }

    fn page_of(&self, id: i64) -> usize {
        self.pages.partition_point(|page| page.ids.last().is_some_and(|last| *last < id))
    }

    /// How many bytes the array has.
    pub fn length(&self) -> u64 {
        if self.pages.is_empty() {
            return EMPTY.len() as u64;
        }
        self.pages.iter().map(|page| page.bytes.len() as u64).sum()
    }
}

/// Applies changes to a snapshot, in ascending order of id, each id once. Pages
/// that no change touches are taken over as they are.
#[derive(Debug)]
pub struct Edit<'a> {
    old: std::slice::Iter<'a, Arc<Page>>,
    /// The old page that is being copied, and how many of its orders have been.
    open: Option<(&'a Page, usize, usize)>,
    new: PagesBuilder,
    scratch: Vec<u8>,
}

impl<'a> Edit<'a> {
    /// Begins with the first order of this snapshot.
    pub fn of(snapshot: &'a Snapshot) -> Edit<'a> {
        Edit {
            old: snapshot.pages.iter(),
            open: None,
            new: PagesBuilder::default(),
            scratch: Vec::new(),
        }
    }

    /// Applies the next change.
    pub fn apply(&mut self, change: OrderChange<'_>) {
        match change {
            OrderChange::Listed(order) => {
                self.go_to(order.id);
                encode(&order, &mut self.scratch);
                self.new.push(order.id, &self.scratch);
            }
            OrderChange::Removed(id) => self.go_to(id),
        }
    }

    /// Takes over the rest and ends.
    pub fn finish(mut self) -> Snapshot {
        self.copy_open(i64::MAX, true);
        for page in self.old {
            self.new.push_page(page);
        }
        self.new.finish()
    }

    /// Takes over every order before `id` and drops the order of `id` itself.
    fn go_to(&mut self, id: i64) {
        self.copy_open(id, false);
        if self.open.is_some() {
            return;
        }
        while let Some(page) = self.old.as_slice().first() {
            let reaches = page.ids.last().is_some_and(|last| *last >= id);
            self.old.next();
            if reaches {
                self.open = Some((page, 0, 0));
                self.copy_open(id, false);
                return;
            }
            self.new.push_page(page);
        }
    }

    /// Copies the open page up to `id`, or to its end.
    fn copy_open(&mut self, id: i64, to_the_end: bool) {
        let Some((page, mut index, mut start)) = self.open.take() else { return };
        let rest = page.ids.get(index..).unwrap_or_default();
        let before = if to_the_end { rest.len() } else { rest.partition_point(|own| *own < id) };
        let stop = index + before;
        self.new.push_run(page, index, stop, start);
        if before > 0 {
            start = page.ends.get(stop - 1).map_or(start, |end| *end as usize);
        }
        index = stop;
        if !to_the_end && page.ids.get(index) == Some(&id) {
            start = page.ends.get(index).map_or(start, |end| *end as usize);
            index += 1;
        }
        if index < page.ids.len() {
            self.open = Some((page, index, start));
        }
    }
}

fn encode(order: &ListedOrder<'_>, into: &mut Vec<u8>) {
    into.clear();
    // Numbers, a flag and a text without surprises: serializing them into
    // memory cannot fail.
    let _ = serde_json::to_writer(into, order);
}

/// Fills pages one after the other.
#[derive(Debug, Default)]
struct PagesBuilder {
    pages: Vec<Arc<Page>>,
    bytes: Vec<u8>,
    ids: Vec<i64>,
    ends: Vec<u32>,
}

impl PagesBuilder {
    fn push(&mut self, id: i64, order: &[u8]) {
        if self.bytes.len() + 1 + order.len() >= PAGE_BYTES {
            self.close_page();
        }
        self.separate();
        self.bytes.extend_from_slice(order);
        self.ids.push(id);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Takes orders `from..to` of a page, the first of which begins after the
    /// byte at `start`.
    fn push_run(&mut self, page: &Page, from: usize, to: usize, start: usize) {
        let (Some(ids), Some(ends)) = (page.ids.get(from..to), page.ends.get(from..to)) else {
            return;
        };
        let Some(end) = ends.last().map(|end| *end as usize) else { return };
        let Some(run) = page.bytes.get(start + 1..end) else { return };
        if self.bytes.len() + 1 + run.len() >= PAGE_BYTES {
            self.close_page();
        }
        self.separate();
        let shift = self.bytes.len().wrapping_sub(start + 1);
        self.bytes.extend_from_slice(run);
        self.ids.extend_from_slice(ids);
        self.ends.extend(ends.iter().map(|end| (*end as usize).wrapping_add(shift) as u32));
    }

    /// Takes a whole page: as it is, unless it fits into the one being filled.
    fn push_page(&mut self, page: &Arc<Page>) {
        if !self.ids.is_empty() && self.bytes.len() + page.bytes.len() < PAGE_BYTES {
            return self.push_run(page, 0, page.ids.len(), 0);
        }
        self.close_page();
        if page.bytes.first() == Some(&self.separator()) {
            self.add(Arc::clone(page));
        } else {
            self.push_run(page, 0, page.ids.len(), 0);
        }
    }

    /// What has been gathered becomes a page: as it lies there if it has filled
    /// its place, otherwise in one of its size.
    fn close_page(&mut self) {
        if self.ids.is_empty() {
            return;
        }
        let bytes = if self.bytes.len() > FULL {
            Bytes::from(std::mem::take(&mut self.bytes))
        } else {
            Bytes::copy_from_slice(&self.bytes)
        };
        let page = Page {
            bytes,
            ids: Arc::from(self.ids.as_slice()),
            ends: Arc::from(self.ends.as_slice()),
            deflated: OnceLock::new(),
        };
        self.bytes.clear();
        self.ids.clear();
        self.ends.clear();
        self.add(Arc::new(page));
    }

    /// Adds a page behind the others, none of which is the last any more.
    fn add(&mut self, page: Arc<Page>) {
        if let Some(before) = self.pages.last_mut()
            && before.is_last()
        {
            *before = before.with_bytes(before.bytes.slice(..before.bytes.len() - 1));
        }
        self.pages.push(page);
    }

    /// Makes room for a whole page, once for each, and begins an order.
    fn separate(&mut self) {
        if self.bytes.capacity() == 0 {
            self.bytes.reserve_exact(PAGE_BYTES);
        }
        self.bytes.push(self.separator());
    }

    fn separator(&self) -> u8 {
        if self.pages.is_empty() && self.ids.is_empty() { b'[' } else { b',' }
    }

    fn finish(mut self) -> Snapshot {
        if !self.ids.is_empty() {
            self.bytes.push(b']');
            self.close_page();
        }
        if let Some(last) = self.pages.last_mut()
            && !last.is_last()
        {
            *last = last.with_bytes(Bytes::from([&last.bytes[..], b"]"].concat()));
        }
        self.pages.shrink_to_fit();
        Snapshot { pages: self.pages }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
    use std::collections::BTreeMap;
    use store_orders_api::types::Order;

    fn text(snapshot: &Snapshot) -> String {
        let parts: Vec<_> = (0..).map_while(|number| snapshot.part(number)).collect();
        let bytes = parts.concat();
        assert_eq!(bytes.len() as u64, snapshot.length());
        String::from_utf8(bytes).unwrap()
    }

    fn order(id: i64, quantity: i32) -> ListedOrder<'static> {
        let ship_date = (quantity % 2 == 0).then_some("2026-12-24T09:30:00Z");
        ListedOrder { id, pet_id: -id, quantity, ship_date, complete: quantity % 3 == 0 }
    }

    /// A list of so many orders, the first of them 0.
    pub fn snapshot(orders: i64) -> Snapshot {
        let empty = Snapshot::default();
        let mut edit = Edit::of(&empty);
        for id in 0..orders {
            edit.apply(OrderChange::Listed(order(id, 1)));
        }
        edit.finish()
    }

    #[test]
    fn an_order_is_encoded_as_the_contract_encodes_it() {
        for quantity in 1..=6 {
            let listed = order(7, quantity);
            let mut bytes = Vec::new();
            encode(&listed, &mut bytes);
            let contract = Order {
                id: listed.id,
                pet_id: listed.pet_id,
                quantity,
                ship_date: listed.ship_date.map(|date| date.parse().unwrap()),
                complete: listed.complete,
            };
            assert_eq!(bytes, serde_json::to_vec(&contract).unwrap());
        }
    }

    #[test]
    fn no_orders_are_an_empty_array() {
        assert_eq!(text(&Snapshot::default()), "[]");
        assert_eq!(text(&Edit::of(&Snapshot::default()).finish()), "[]");
    }

    /// Random edits of a list of several pages against a map that is encoded
    /// from scratch.
    #[test]
    fn edits_agree_with_a_map() {
        for seed in 0..20 {
            let mut random = StdRng::seed_from_u64(seed);
            let mut map: BTreeMap<i64, i32> = BTreeMap::new();
            let mut snapshot = Snapshot::default();
            for round in 0..12 {
                let many = if round % 4 == 0 { 6_000 } else { 40 };
                let mut changes: BTreeMap<i64, Option<i32>> = BTreeMap::new();
                for _ in 0..many {
                    let id = random.random_range(-9_000..9_000);
                    let gone = round % 4 == 3 || random.next_u32() % 3 == 0;
                    changes.insert(id, (!gone).then(|| random.random_range(1..100)));
                }
                if round == 11 {
                    changes = map.keys().map(|id| (*id, None)).collect();
                }
                let mut edit = Edit::of(&snapshot);
                for (id, quantity) in &changes {
                    match quantity {
                        Some(quantity) => {
                            map.insert(*id, *quantity);
                            edit.apply(OrderChange::Listed(order(*id, *quantity)));
                        }
                        None => {
                            map.remove(id);
                            edit.apply(OrderChange::Removed(*id));
                        }
                    }
                }
                let edited = edit.finish();
                let orders: Vec<_> =
                    map.iter().map(|(id, quantity)| order(*id, *quantity)).collect();
                assert_eq!(text(&edited), serde_json::to_string(&orders).unwrap(), "seed {seed}");
                let ids: Vec<_> = edited.pages().iter().flat_map(|page| page.ids.iter()).collect();
                assert_eq!(ids.len(), map.len());
                assert!(ids.iter().zip(map.keys()).all(|(id, own)| *id == own));
                snapshot = edited;
            }
            assert_eq!(text(&snapshot), "[]");
        }
    }

    #[test]
    fn pages_that_no_change_touches_are_taken_over() {
        let before = snapshot(20_000);
        assert!(before.pages().len() > 4);
        let mut edit = Edit::of(&before);
        edit.apply(OrderChange::Removed(10_000));
        let after = edit.finish();
        let same = after
            .pages()
            .iter()
            .filter(|page| before.pages().iter().any(|own| Arc::ptr_eq(own, page)))
            .count();
        assert_eq!(same, before.pages().len() - 1);
        assert_eq!(before.pages_of(&[]), 0);
        assert_eq!(before.pages_of(&[10_000]), 1);
        assert_eq!(before.pages_of(&[-1, 0, 1, 2, 19_998, 19_999, 20_000]), 3);
    }
}
