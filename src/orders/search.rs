//! Finds orders of a snapshot for v2: one by its id, or a page of those that match a filter.

mod filter;

pub use filter::OrderFilter;

use super::snapshot::Snapshot;
use crate::store::Order;

/// The orders of a page.
#[derive(Debug)]
pub struct Found<'a> {
    /// The orders, in ascending order of id.
    pub orders: Vec<&'a Order>,
    /// The id from which the search continues, unless it has reached the end of the list.
    pub next: Option<i64>,
}

/// Returns the order with this id, if the list contains it.
pub fn find_order(list: &Snapshot, id: i64) -> Option<&Order> {
    let orders = list.pages_from(id).first()?.orders();
    orders.get(orders.binary_search_by_key(&id, |order| order.id).ok()?)
}

/// Finds up to `limit` orders that match the filter, in ascending order from id `from`. Yields to
/// other requests after each turn, and ends after [`search_orders`](super::snapshot::Sizes::search_orders).
pub async fn find_orders<'a>(
    list: &'a Snapshot,
    filter: &OrderFilter,
    from: i64,
    limit: usize,
) -> Found<'a> {
    let sizes = list.sizes();
    let (mut orders, mut scanned, mut turn_ends_at) = (Vec::new(), 0, sizes.turn_orders);
    for page in list.pages_from(from) {
        let page = page.orders();
        if scanned >= sizes.search_orders {
            return Found { orders, next: page.first().map(|order| order.id) };
        }
        // Only the first page can have orders before `from`.
        let start = if scanned == 0 { page.partition_point(|order| order.id < from) } else { 0 };
        let rest = page.get(start..).unwrap_or_default();
        for order in rest.iter().filter(|order| filter.matches(order)) {
            if orders.len() == limit {
                return Found { orders, next: Some(order.id) };
            }
            orders.push(order);
        }
        scanned += rest.len();
        if scanned >= turn_ends_at {
            turn_ends_at = scanned + sizes.turn_orders;
            tokio::task::yield_now().await;
        }
    }
    Found { orders, next: None }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::edit::tests::{SMALL, apply_changes};
    use super::*;
    use crate::orders::snapshot::edit::tests::cancelled;
    use crate::store::OrderStatus;
    use chrono::{DateTime, Utc};
    use futures::FutureExt;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use store_orders_api::v2::ListOrdersStatus;

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

    fn build_order(id: i64, fields: Fields) -> Order {
        let Fields { pet_id, complete, is_shipped, .. } = fields;
        let ship_date = fields.date.map(|date| DATES[date].parse().unwrap());
        let status = if is_shipped { OrderStatus::Shipped } else { OrderStatus::Pending };
        Order { id, pet_id, quantity: 1, ship_date, complete, status }
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
                Some(fields) => build_order(*id, *fields),
                None => cancelled(*id),
            }),
        )
    }

    /// Finds a page. The list is so short that the search does not yield.
    fn page<'a>(list: &'a Snapshot, filter: &OrderFilter, from: i64, limit: usize) -> Found<'a> {
        find_orders(list, filter, from, limit).now_or_never().unwrap()
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
                let found = page(&list, &filter, from, *limit);
                let mut expected = model.range(from..).filter(|(_, fields)| matches(fields, &filter));
                let on_page = expected.by_ref().take(*limit);
                let on_page: Vec<_> = on_page.map(|(id, fields)| build_order(*id, *fields)).collect();
                prop_assert!(found.orders.iter().copied().eq(&on_page));
                prop_assert_eq!(found.next, expected.next().map(|(id, _)| *id));
                let Some(next) = found.next else { break };
                from = next;
                list = apply(&list, &mut model, changes);
            }
        }
    }

    #[tokio::test]
    async fn the_search_for_a_page_is_bounded_and_the_next_page_continues_it() {
        let last = 10 * SMALL.search_orders as i64;
        let list =
            apply_changes(&Snapshot::empty(SMALL), (0..=last).map(|id| Order::new(id, id, 1)));
        let filter = OrderFilter { pet_id: Some(last), ..OrderFilter::default() };
        let (mut from, mut pages, mut found) = (i64::MIN, 0, Vec::new());
        while found.is_empty() {
            let page = find_orders(&list, &filter, from, 1).await;
            (pages, found) = (pages + 1, page.orders);
            if let Some(next) = page.next {
                assert!(next > from && next - from.max(0) < SMALL.search_orders as i64 + 100);
                from = next;
            }
        }
        assert_eq!((pages, found[0].id), (10, last));
    }
}
