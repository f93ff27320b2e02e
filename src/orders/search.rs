//! Searches a snapshot for a page of v2: the orders that match a filter, in ascending order of id.
//! A search scans the marks of all orders, which takes 0.4 ms for a million, and reads the JSON of
//! an order only if its mark matches.

mod filter;

pub use filter::OrderFilter;

use super::snapshot::{Mark, MarkFilter, Page, Snapshot};
use chrono::{DateTime, Utc};
use std::iter;
use std::ops::ControlFlow;
use store_orders_api::types::utc_text;
use store_orders_api::v2::ListOrdersStatus;

/// A search ends after it has scanned this many orders, which takes about 8 ms at most. Its page
/// may then have fewer orders than the limit; the next page continues the search.
const MAX_SCANNED: usize = 8_000_000;

/// A search yields to other requests each time it has scanned this many orders.
const TURN_SCANNED: usize = 50_000;

/// Reading an order's JSON takes as long as scanning this many marks.
const TEXT_COST: usize = 30;

/// The state of a search.
struct Search<'a> {
    marks: MarkFilter,
    /// The pet's JSON member, which follows the id in the text of an order that matches.
    pet: Option<String>,
    dates: Option<ShipDates>,
    limit: usize,
    /// The number of matching orders so far.
    matches: usize,
    /// The cost so far: 1 for each scanned order, plus [`TEXT_COST`] for each order whose JSON was
    /// read.
    scanned: usize,
    /// The matching orders, separated by commas.
    orders: &'a mut Vec<u8>,
}

/// The range of ship dates that a filter allows. The dates are texts whose order is the order of
/// time, because [`utc_text`] writes them all in UTC and without redundant zeros.
struct ShipDates {
    from: Option<Vec<u8>>,
    before: Option<Vec<u8>>,
}

/// Returns the JSON of an order in v2, if the list contains the order.
pub fn find_order(list: &Snapshot, id: i64) -> Option<Vec<u8>> {
    let page = list.pages_from(id).first()?;
    let number = page.ids().binary_search(&id).ok()?;
    let mut order = Vec::new();
    push_order(&mut order, page.order(number)?, *page.marks().get(number)?);
    Some(order)
}

/// Appends the text of an order from a page, extended by the order's status.
fn push_order(orders: &mut Vec<u8>, text: &[u8], mark: Mark) {
    orders.extend_from_slice(text.strip_suffix(b"}").unwrap_or(text));
    orders.extend_from_slice(b",\"status\":\"");
    orders.extend_from_slice(mark.status().as_str().as_bytes());
    orders.extend_from_slice(b"\"}");
}

/// Appends up to `limit` matching orders to `orders`, in ascending order from id `from`. Returns
/// the id from which to continue, or `None` after the last match.
pub async fn find_orders(
    list: &Snapshot,
    filter: &OrderFilter,
    from: i64,
    limit: usize,
    orders: &mut Vec<u8>,
) -> Option<i64> {
    let is_shipped = filter.status.map(|status| status == ListOrdersStatus::Shipped);
    let marks = MarkFilter::new(is_shipped, filter.complete, filter.pet_id);
    let pet = filter.pet_id.map(|id| format!(",\"petId\":{id},"));
    let dates = ShipDates::from_filter(filter);
    let mut search = Search { marks, pet, dates, limit, matches: 0, scanned: 0, orders };
    let mut turn_ends_at = TURN_SCANNED;
    let pages = list.pages_from(from);
    // Only the first page can have orders before `from`.
    let before = pages.first().map_or(0, |page| page.ids().partition_point(|id| *id < from));
    for (page, start) in pages.iter().zip(iter::once(before).chain(iter::repeat(0))) {
        if search.scanned >= MAX_SCANNED {
            return page.ids().first().copied();
        }
        if let ControlFlow::Break(next) = search.scan(page, start) {
            return Some(next);
        }
        if search.scanned >= turn_ends_at {
            turn_ends_at = search.scanned + TURN_SCANNED;
            tokio::task::yield_now().await;
        }
    }
    None
}

impl Search<'_> {
    /// Scans the orders of a page from index `start`. Breaks with the id of the first match beyond
    /// the limit.
    fn scan(&mut self, page: &Page, start: usize) -> ControlFlow<i64> {
        self.scanned += page.ids().len() - start;
        let marks = self.marks;
        let orders = page.marks().iter().copied().enumerate().skip(start);
        let mut candidates = orders.filter(|(_, mark)| marks.allows(*mark));
        candidates.try_for_each(|(number, mark)| self.add_if_it_matches(page, number, mark))
    }

    fn add_if_it_matches(&mut self, page: &Page, number: usize, mark: Mark) -> ControlFlow<i64> {
        // The page has an id and a text for each of its orders, so this never fails.
        let (Some(id), Some(text)) = (page.ids().get(number), page.order(number)) else {
            return ControlFlow::Continue(());
        };
        if !self.text_matches(text) {
            return ControlFlow::Continue(());
        }
        if self.matches == self.limit {
            return ControlFlow::Break(*id);
        }
        if self.matches > 0 {
            self.orders.push(b',');
        }
        self.matches += 1;
        push_order(self.orders, text, mark);
        ControlFlow::Continue(())
    }

    fn text_matches(&mut self, text: &[u8]) -> bool {
        if self.pet.is_some() || self.dates.is_some() {
            self.scanned += TEXT_COST;
        }
        if let Some(pet) = &self.pet {
            let after_id = text.iter().position(|byte| *byte == b',');
            let rest = after_id.and_then(|end| text.get(end..)).unwrap_or_default();
            if !rest.starts_with(pet.as_bytes()) {
                return false;
            }
        }
        let Some(dates) = &self.dates else { return true };
        ship_date(text).is_some_and(|date| dates.allow(date))
    }
}

impl ShipDates {
    /// Returns the filter's range of ship dates, or `None` if the filter allows all dates.
    fn from_filter(filter: &OrderFilter) -> Option<ShipDates> {
        let OrderFilter { ship_date_from, ship_date_before, .. } = filter;
        // Years have four digits in filters and in orders, so the texts have the order of time.
        let text = |date: &DateTime<Utc>| comparable(utc_text(date).as_bytes()).to_vec();
        let [from, before] = [ship_date_from, ship_date_before].map(|date| date.as_ref().map(text));
        (from.is_some() || before.is_some()).then_some(ShipDates { from, before })
    }

    fn allow(&self, date: &[u8]) -> bool {
        let ship_date = comparable(date);
        self.from.as_ref().is_none_or(|from| ship_date >= from.as_slice())
            && self.before.as_ref().is_none_or(|before| ship_date < before.as_slice())
    }
}

/// Returns the ship date from the text of an order. It is the last member but one, before
/// `complete`.
fn ship_date(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_suffix(b"true}").or_else(|| text.strip_suffix(b"false}"))?;
    let rest = rest.strip_suffix(b"\",\"complete\":")?;
    rest.rsplit(|byte| *byte == b'"').next()
}

/// Removes the `Z` of a date in UTC, so that a date with a fraction of a second sorts after the
/// same date without a fraction.
fn comparable(date: &[u8]) -> &[u8] {
    date.strip_suffix(b"Z").unwrap_or(date)
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::edit::tests::{SMALL, apply_changes};
    use super::*;
    use crate::store::{ListedOrder, OrderChange};
    use futures::FutureExt;
    use proptest::prelude::*;
    use serde_json::Value;
    use std::collections::BTreeMap;

    const DATES: [&str; 4] = [
        "2026-12-01T00:00:00Z",
        "2026-12-01T00:00:00.500Z",
        "2026-12-24T09:30:00Z",
        "9999-12-31T23:59:59.999999999Z",
    ];

    /// The fields of an order except its id. They have few values, so that filters match some
    /// orders.
    #[derive(Clone, Copy, Debug)]
    struct Fields {
        pet_id: i64,
        date: Option<usize>,
        complete: bool,
        is_shipped: bool,
    }

    type Model = BTreeMap<i64, Fields>;

    fn build_listed_order(id: i64, fields: Fields) -> ListedOrder<'static> {
        let Fields { pet_id, complete, is_shipped, .. } = fields;
        let ship_date = fields.date.map(|date| DATES[date]);
        ListedOrder { id, pet_id, quantity: 1, ship_date, complete, is_shipped }
    }

    fn matches(fields: &Fields, filter: &OrderFilter) -> bool {
        let ship_date = fields.date.map(|date| DATES[date].parse::<DateTime<Utc>>().unwrap());
        let status =
            if fields.is_shipped { ListOrdersStatus::Shipped } else { ListOrdersStatus::Pending };
        filter.pet_id.is_none_or(|pet| pet == fields.pet_id)
            && filter.status.is_none_or(|expected| expected == status)
            && filter.complete.is_none_or(|complete| complete == fields.complete)
            && filter.ship_date_from.is_none_or(|from| ship_date.is_some_and(|date| date >= from))
            && filter
                .ship_date_before
                .is_none_or(|before| ship_date.is_some_and(|date| date < before))
    }

    fn fields() -> impl Strategy<Value = Fields> {
        let pet = prop_oneof![-2_i64..3, Just(i64::MIN), Just(i64::MAX)];
        (pet, prop::option::of(0..DATES.len()), any::<bool>(), any::<bool>()).prop_map(
            |(pet_id, date, complete, is_shipped)| Fields { pet_id, date, complete, is_shipped },
        )
    }

    fn ids() -> impl Strategy<Value = i64> {
        prop_oneof![8 => -200_i64..200, 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
    }

    fn filter() -> impl Strategy<Value = OrderFilter> {
        let bounds = ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z"];
        let bounds = [&DATES[..], &bounds].concat();
        let bound = || {
            prop::option::of(
                prop::sample::select(bounds.clone()).prop_map(|date| date.parse().unwrap()),
            )
        };
        let status = prop::option::of(prop::sample::select(vec![
            ListOrdersStatus::Pending,
            ListOrdersStatus::Shipped,
        ]));
        (prop::option::of(-2_i64..3), status, prop::option::of(any::<bool>()), bound(), bound())
            .prop_map(|(pet_id, status, complete, ship_date_from, ship_date_before)| OrderFilter {
                pet_id,
                status,
                complete,
                ship_date_from,
                ship_date_before,
            })
    }

    /// Generates changes between two pages: orders are added, changed or removed.
    fn changes() -> impl Strategy<Value = BTreeMap<i64, Option<Fields>>> {
        prop::collection::btree_map(ids(), prop::option::of(fields()), 0..20)
    }

    fn apply(
        list: &Snapshot,
        model: &mut Model,
        changes: &BTreeMap<i64, Option<Fields>>,
    ) -> Snapshot {
        for (id, change) in changes {
            match change {
                Some(fields) => drop(model.insert(*id, *fields)),
                None => drop(model.remove(id)),
            }
        }
        apply_changes(
            list,
            changes.iter().map(|(id, change)| match change {
                Some(fields) => OrderChange::Listed(build_listed_order(*id, *fields)),
                None => OrderChange::Removed(*id),
            }),
        )
    }

    /// Returns a page's orders and the id from which the next page continues. The list is so short
    /// that the search does not yield.
    fn page(
        list: &Snapshot,
        filter: &OrderFilter,
        from: i64,
        limit: usize,
    ) -> (Vec<Value>, Option<i64>) {
        let mut orders = Vec::new();
        let next = find_orders(list, filter, from, limit, &mut orders).now_or_never().unwrap();
        let text = format!("[{}]", String::from_utf8(orders).unwrap());
        (serde_json::from_str(&text).unwrap(), next)
    }

    proptest! {
        #![proptest_config(testbed::property_config())]

        /// Each page agrees with a model, so no order is on two pages, and an order that stays in
        /// the list is on exactly one page.
        #[test]
        fn pages_agree_with_a_model(
            orders in prop::collection::btree_map(ids(), fields(), 0..300),
            filter in filter(),
            limits in prop::collection::vec(1_usize..40, 1..8),
            between in prop::collection::vec(changes(), 8),
        ) {
            let mut model = Model::new();
            let first = orders.into_iter().map(|(id, fields)| (id, Some(fields))).collect();
            let empty = Snapshot::empty(SMALL);
            let mut list = apply(&empty, &mut model, &first);
            let mut from = i64::MIN;
            for (limit, changes) in limits.iter().zip(&between) {
                let (actual, next) = page(&list, &filter, from, *limit);
                let mut expected = model.range(from..).filter(|(_, fields)| matches(fields, &filter));
                let on_page: Vec<_> = expected.by_ref().take(*limit).collect();
                prop_assert_eq!(actual.len(), on_page.len());
                for (order, (id, fields)) in actual.iter().zip(on_page) {
                    let listed = build_listed_order(*id, *fields);
                    let mut expected = serde_json::to_value(listed).unwrap();
                    expected["status"] = (if fields.is_shipped { "shipped" } else { "pending" }).into();
                    prop_assert_eq!(order, &expected);
                }
                prop_assert_eq!(next, expected.next().map(|(id, _)| *id));
                let Some(next) = next else { break };
                from = next;
                list = apply(&list, &mut model, changes);
            }
        }
    }

    /// Returns a list of this many orders, each for a different pet and with a ship date.
    fn long_list(orders: i64) -> Snapshot {
        let change = |id: i64| {
            let date_index = usize::try_from(id % 3).unwrap();
            let fields =
                Fields { pet_id: id, date: Some(date_index), complete: false, is_shipped: false };
            OrderChange::Listed(build_listed_order(id, fields))
        };
        apply_changes(&Snapshot::empty(SMALL), (0..orders).map(change))
    }

    #[tokio::test]
    async fn the_search_for_a_page_is_bounded_and_the_next_page_continues_it() {
        let list = long_list(100_000);
        let filter = OrderFilter {
            ship_date_from: Some("9999-01-01T00:00:00Z".parse().unwrap()),
            ..OrderFilter::default()
        };
        let (mut from, mut pages, mut orders) = (i64::MIN, 1, Vec::new());
        while let Some(next) = find_orders(&list, &filter, from, 10, &mut orders).await {
            assert!(next > from && next - from.max(0) <= (MAX_SCANNED / TEXT_COST) as i64 + 100);
            (from, pages) = (next, pages + 1);
        }
        assert!(orders.is_empty());
        assert_eq!(pages, (100_000 * TEXT_COST).div_ceil(MAX_SCANNED), "{pages}");
    }

    #[tokio::test]
    async fn a_rare_pets_order_is_on_the_first_page() {
        let list = long_list(100_000);
        let filter = OrderFilter { pet_id: Some(99_999), ..OrderFilter::default() };
        for _ in 0..2 {
            let mut orders = Vec::new();
            assert_eq!(find_orders(&list, &filter, i64::MIN, 1, &mut orders).await, None);
            assert!(orders.starts_with(br#"{"id":99999,"#), "{orders:?}");
        }
    }
}
