//! Creates a new snapshot by applying changes to an old one.

use super::builder::PagesBuilder;
use super::encoded::append_json;
use super::tag::ContentHash;
use super::{Page, Snapshot};
use crate::store::{Order, OrderStatus};
use std::sync::Arc;
use store_orders_api::v1;

/// Creates a new snapshot by applying changes to an old one. The caller must apply the changes in
/// ascending order of id, and each id only once.
///
/// The new snapshot shares most unchanged pages with the old snapshot.
#[derive(Debug)]
pub struct Edit<'a> {
    old: std::slice::Iter<'a, Arc<Page>>,
    open: Option<OpenPage<'a>>,
    new: PagesBuilder,
    content: ContentHash,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct OpenPage<'a> {
    page: &'a Page,
    /// The number of the page's orders that have been copied or dropped.
    consumed: usize,
}

impl<'a> Edit<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Edit<'a> {
        Edit {
            old: snapshot.pages().iter(),
            open: None,
            // If version 2 is in use, encode the changed pages now, so that no request waits for
            // the encoding.
            new: PagesBuilder::new(
                snapshot.sizes(),
                snapshot.pages().iter().any(|page| page.has_v2()),
            ),
            content: snapshot.content,
            scratch: Vec::new(),
        }
    }

    /// Adds or replaces this order, or removes the order if it is cancelled. The caller must pass
    /// orders by ascending id.
    pub fn apply(&mut self, order: Order) {
        self.remove(order.id);
        if matches!(order.status, OrderStatus::Cancelled(_)) {
            return;
        }
        self.scratch.clear();
        append_json(&mut self.scratch, &v1::Order::from(&order));
        self.content.add(&self.scratch);
        self.new.push(order, &self.scratch);
    }

    /// Removes the order with this id, if the snapshot contains it. First copies all orders below
    /// this id to the new snapshot, so each further call must have a higher id.
    pub fn remove(&mut self, id: i64) {
        self.copy_open(Some(id));
        while self.open.is_none() {
            let Some(page) = self.old.next() else { return };
            if page.reaches(id) {
                self.open = Some(OpenPage { page, consumed: 0 });
                return self.copy_open(Some(id));
            }
            self.new.push_page(page);
        }
    }

    /// Adds the old snapshot's orders that follow the last changed order, and returns the new
    /// snapshot. Call this method after all changes were applied.
    pub fn finish(mut self) -> Snapshot {
        self.copy_open(None);
        for page in self.old {
            self.new.push_page(page);
        }
        self.new.finish(self.content)
    }

    /// Copies the open page's orders below `id`, and drops the order `id`. Without `id`, copies all
    /// remaining orders of the page.
    fn copy_open(&mut self, id: Option<i64>) {
        let Some(OpenPage { page, mut consumed }) = self.open.take() else { return };
        let rest = page.orders().get(consumed..).unwrap_or_default();
        let before = id.map_or(rest.len(), |id| rest.partition_point(|other| other.id < id));
        self.new.push_run(page, consumed..consumed + before);
        consumed += before;
        if id.is_some() && page.orders().get(consumed).map(|order| order.id) == id {
            self.content.subtract(page.v1().order(consumed).unwrap_or_default());
            consumed += 1;
        }
        if consumed < page.orders().len() {
            self.open = Some(OpenPage { page, consumed });
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::orders::snapshot::Sizes;
    use crate::store::Cancelled;
    use chrono::DateTime;
    use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
    use std::collections::BTreeMap;

    /// Sizes that give about 80 orders per page.
    pub const SMALL: Sizes = Sizes {
        page_bytes: 4_096,
        turn_bytes: 1_024,
        short_list_bytes: 16_384,
        pages_ahead: 2,
        turn_orders: 1_000,
        search_orders: 10_000,
    };

    pub fn snapshot(orders: i64) -> Snapshot {
        apply_changes(&Snapshot::empty(SMALL), (0..orders).map(|id| order(id, 1)))
    }

    pub fn apply_changes(old: &Snapshot, changes: impl IntoIterator<Item = Order>) -> Snapshot {
        let mut edit = Edit::new(old);
        changes.into_iter().for_each(|change| edit.apply(change));
        edit.finish()
    }

    /// Derives the ship date, status and `complete` from the quantity, so a test can change several
    /// fields with one number.
    pub fn order(id: i64, quantity: i32) -> Order {
        let ship_date = (quantity % 2 == 0).then(|| "2026-12-24T09:30:00Z".parse().unwrap());
        let is_shipped = quantity % 5 == 0;
        let status = if is_shipped { OrderStatus::Shipped } else { OrderStatus::Pending };
        Order { ship_date, complete: quantity % 3 == 0, status, ..Order::new(id, -id, quantity) }
    }

    pub fn cancelled(id: i64) -> Order {
        let cancelled = Cancelled { at: DateTime::UNIX_EPOCH, by: "key_1".into() };
        Order { status: OrderStatus::Cancelled(Box::new(cancelled)), ..Order::pending(id) }
    }

    pub fn text(snapshot: &Snapshot) -> String {
        let pages = || snapshot.pages().iter().flat_map(|page| &page.bytes).copied().collect();
        let bytes = snapshot.whole().map_or_else(pages, Vec::from);
        assert_eq!(bytes.len(), snapshot.length());
        String::from_utf8(bytes).unwrap()
    }

    /// Returns random changes by id: a new quantity, or `None` to remove the order. Every fourth
    /// round changes so many orders that several pages change.
    fn random_changes(random: &mut StdRng, round: usize) -> BTreeMap<i64, Option<i32>> {
        let many = if round.is_multiple_of(4) { 600 } else { 10 };
        let change = |_| {
            let removed = round % 4 == 3 || random.next_u32().is_multiple_of(3);
            let quantity = (!removed).then(|| random.random_range(1..100));
            (random.random_range(-900..900), quantity)
        };
        (0..many).map(change).collect()
    }

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
                        Some(quantity) => order(*id, *quantity),
                        None => cancelled(*id),
                    }),
                );
                map.extend(changes.iter().filter_map(|(id, new)| Some((*id, (*new)?))));
                map.retain(|id, _| changes.get(id) != Some(&None));
                let orders: Vec<_> =
                    map.iter().map(|(id, quantity)| order(*id, *quantity)).collect();
                let sent: Vec<_> = orders.iter().map(v1::Order::from).collect();
                assert_eq!(text(&snapshot), serde_json::to_string(&sent).unwrap(), "seed {seed}");
                assert!(snapshot.pages().iter().flat_map(|page| page.orders()).eq(&orders));
                let rebuilt = apply_changes(&Snapshot::empty(SMALL), orders);
                assert_eq!(snapshot.tag(), rebuilt.tag(), "seed {seed}");
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
        let after = apply_changes(&before, [cancelled(500)]);
        let shared = |page: &&Arc<Page>| before.pages().iter().any(|old| Arc::ptr_eq(old, page));
        assert_eq!(after.pages().iter().filter(shared).count(), before.pages().len() - 1);
    }
}
