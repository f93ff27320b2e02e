//! Creates a new snapshot from an old one and the changes since. An order is encoded only when its
//! row is read. When another order of the same page changes, the bytes of the unchanged orders are
//! copied to a new page.

use super::builder::PagesBuilder;
use super::tag::ContentHash;
use super::{Mark, Page, Snapshot};
use crate::store::{ListedOrder, OrderChange};
use std::sync::Arc;

/// Applies changes to a snapshot, in ascending order of id, each id once. Pages without changes are
/// shared with the old snapshot.
#[derive(Debug)]
pub struct Edit<'a> {
    old: std::slice::Iter<'a, Arc<Page>>,
    open: Option<OpenPage<'a>>,
    new: PagesBuilder,
    content: ContentHash,
    scratch: Vec<u8>,
}

/// An old page that is being copied.
#[derive(Debug)]
struct OpenPage<'a> {
    page: &'a Page,
    /// The number of its orders that have been copied or dropped.
    consumed: usize,
    /// The byte where the last of these orders ends.
    end: usize,
}

impl<'a> Edit<'a> {
    /// Begins an edit at the first order of the snapshot.
    pub fn new(snapshot: &'a Snapshot) -> Edit<'a> {
        Edit {
            old: snapshot.pages().iter(),
            open: None,
            new: PagesBuilder::new(snapshot.sizes()),
            content: snapshot.content,
            scratch: Vec::new(),
        }
    }

    /// Applies the next change in ascending order of id.
    pub fn apply(&mut self, change: OrderChange<'_>) {
        match change {
            OrderChange::Listed(order) => {
                self.go_to(order.id);
                encode(&order, &mut self.scratch);
                self.content.add(&self.scratch);
                self.new.push(order.id, Mark::new(&order), &self.scratch);
            }
            OrderChange::Removed(id) => self.go_to(id),
        }
    }

    /// Copies the remaining orders and returns the new snapshot.
    pub fn finish(mut self) -> Snapshot {
        self.copy_open(None);
        for page in self.old {
            self.new.push_page(page);
        }
        self.new.finish(self.content)
    }

    /// Copies all orders before `id` and drops the order with this id.
    fn go_to(&mut self, id: i64) {
        self.copy_open(Some(id));
        while self.open.is_none() {
            let Some(page) = self.old.next() else { return };
            if page.reaches(id) {
                self.open = Some(OpenPage { page, consumed: 0, end: 0 });
                return self.copy_open(Some(id));
            }
            self.new.push_page(page);
        }
    }

    /// Copies the open page's orders before `id` and drops the order with this id. Without `id`,
    /// copies all remaining orders of the page.
    fn copy_open(&mut self, id: Option<i64>) {
        let Some(OpenPage { page, mut consumed, mut end }) = self.open.take() else { return };
        let end_of =
            |consumed: usize, end| page.ends().get(consumed - 1).map_or(end, |end| *end as usize);
        let rest = page.ids().get(consumed..).unwrap_or_default();
        let before = id.map_or(rest.len(), |id| rest.partition_point(|other| *other < id));
        self.new.push_run(page, consumed..consumed + before, end);
        if before > 0 {
            consumed += before;
            end = end_of(consumed, end);
        }
        if id.is_some() && page.ids().get(consumed) == id.as_ref() {
            self.content.subtract(page.order(consumed).unwrap_or_default());
            consumed += 1;
            end = end_of(consumed, end);
        }
        if consumed < page.ids().len() {
            self.open = Some(OpenPage { page, consumed, end });
        }
    }
}

fn encode(order: &ListedOrder<'_>, into: &mut Vec<u8>) {
    into.clear();
    // Serializing numbers, booleans and texts to memory cannot fail.
    let _ = serde_json::to_writer(into, order);
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::orders::snapshot::Sizes;
    use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
    use std::collections::BTreeMap;
    use store_orders_api::types::Order;

    /// Sizes that give about 80 orders per page.
    pub const SMALL: Sizes =
        Sizes { page_bytes: 4_096, turn_bytes: 1_024, short_list_bytes: 16_384, pages_ahead: 2 };

    /// Returns a list of this many orders, whose ids begin at 0.
    pub fn snapshot(orders: i64) -> Snapshot {
        let listed = |id| OrderChange::Listed(order(id, 1));
        apply_changes(&Snapshot::empty(SMALL), (0..orders).map(listed))
    }

    pub fn apply_changes<'a>(
        old: &Snapshot,
        changes: impl IntoIterator<Item = OrderChange<'a>>,
    ) -> Snapshot {
        let mut edit = Edit::new(old);
        changes.into_iter().for_each(|change| edit.apply(change));
        edit.finish()
    }

    /// An order whose other fields depend on the quantity.
    pub fn order(id: i64, quantity: i32) -> ListedOrder<'static> {
        let ship_date = (quantity % 2 == 0).then_some("2026-12-24T09:30:00Z");
        let (complete, is_shipped) = (quantity % 3 == 0, quantity % 5 == 0);
        ListedOrder { id, pet_id: -id, quantity, ship_date, complete, is_shipped }
    }

    pub fn text(snapshot: &Snapshot) -> String {
        let pages = || snapshot.pages().iter().flat_map(|page| &page.bytes).copied().collect();
        let bytes = snapshot.whole().map_or_else(pages, Vec::from);
        assert_eq!(bytes.len(), snapshot.length());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_order_is_encoded_as_the_apis_type_encodes_it() {
        for quantity in 1..=6 {
            let listed = order(7, quantity);
            let mut bytes = Vec::new();
            encode(&listed, &mut bytes);
            let contract = Order {
                id: listed.id,
                pet_id: listed.pet_id,
                quantity: quantity.into(),
                ship_date: listed.ship_date.map(|date| date.parse().unwrap()),
                complete: listed.complete,
            };
            assert_eq!(bytes, serde_json::to_vec(&contract).unwrap());
        }
    }

    /// Returns random changes: a few, or in every fourth round enough for several pages.
    fn random_changes(random: &mut StdRng, round: usize) -> BTreeMap<i64, Option<i32>> {
        let many = if round.is_multiple_of(4) { 600 } else { 10 };
        let change = |_| {
            let removed = round % 4 == 3 || random.next_u32().is_multiple_of(3);
            let quantity = (!removed).then(|| random.random_range(1..100));
            (random.random_range(-900..900), quantity)
        };
        (0..many).map(change).collect()
    }

    /// Random edits give the same list as a map that is encoded from scratch.
    #[test]
    fn edits_agree_with_a_map() {
        let mut most_pages = 0;
        for seed in 0..40 {
            let mut random = StdRng::seed_from_u64(seed);
            let mut map: BTreeMap<i64, i32> = BTreeMap::new();
            let mut snapshot = Snapshot::empty(SMALL);
            for round in 0..12 {
                let mut changes = random_changes(&mut random, round);
                if round == 11 {
                    changes = map.keys().map(|id| (*id, None)).collect();
                }
                snapshot = apply_changes(
                    &snapshot,
                    changes.iter().map(|(id, quantity)| match quantity {
                        Some(quantity) => OrderChange::Listed(order(*id, *quantity)),
                        None => OrderChange::Removed(*id),
                    }),
                );
                map.extend(changes.iter().filter_map(|(id, new)| Some((*id, (*new)?))));
                map.retain(|id, _| changes.get(id) != Some(&None));
                let orders: Vec<_> =
                    map.iter().map(|(id, quantity)| order(*id, *quantity)).collect();
                assert_eq!(text(&snapshot), serde_json::to_string(&orders).unwrap(), "seed {seed}");
                let changes = orders.iter().map(|order| OrderChange::Listed(*order));
                let rebuilt = apply_changes(&Snapshot::empty(SMALL), changes);
                assert_eq!(snapshot.tag(), rebuilt.tag(), "seed {seed}");
                assert!(snapshot.pages().iter().flat_map(|page| page.ids()).eq(map.keys()));
                most_pages = snapshot.pages().len().max(most_pages);
            }
            assert_eq!(text(&snapshot), "[]");
        }
        assert!(most_pages > 4);
    }

    #[test]
    fn pages_without_changes_are_shared() {
        let before = snapshot(1_000);
        assert!(before.pages().len() > 4);
        let after = apply_changes(&before, [OrderChange::Removed(500)]);
        let shared = |page: &&Arc<Page>| before.pages().iter().any(|old| Arc::ptr_eq(old, page));
        assert_eq!(after.pages().iter().filter(shared).count(), before.pages().len() - 1);
    }
}
