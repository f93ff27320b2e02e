//! Finds orders in a snapshot for v2, either by id or by a filter.

mod filter;

pub use filter::OrderFilter;

use super::snapshot::Snapshot;
use crate::store::Order;

pub fn find_order(list: &Snapshot, id: i64) -> Option<&Order> {
    let orders = list.pages_from(id).first()?.orders();
    orders.get(orders.binary_search_by_key(&id, |order| order.id).ok()?)
}

/// Appends the JSON of up to `limit` matching orders from id `from` on, separated by commas.
/// Returns the id from which the next call must continue, or `None` at the end of the list.
///
/// The search yields to other requests whenever it has scanned about
/// [`turn_orders`](super::snapshot::Sizes::turn_orders) orders. It stops after it has scanned
/// [`search_orders`](super::snapshot::Sizes::search_orders) orders, so it may find fewer than
/// `limit` orders.
pub async fn find_orders(
    list: &Snapshot,
    filter: &OrderFilter,
    from: i64,
    limit: usize,
    json: &mut Vec<u8>,
) -> Option<i64> {
    let sizes = list.sizes();
    let (mut found, mut scanned, mut turn_ends_at) = (0, 0, sizes.turn_orders);
    for page in list.pages_from(from) {
        let orders = page.orders();
        if scanned >= sizes.search_orders {
            return orders.first().map(|order| order.id);
        }
        // Only the first scanned page can have orders with lower ids than `from`.
        let start = if scanned == 0 { orders.partition_point(|order| order.id < from) } else { 0 };
        let rest = (start..).zip(orders.get(start..).unwrap_or_default());
        for (number, order) in rest.filter(|(_, order)| filter.matches(order)) {
            if found == limit {
                return Some(order.id);
            }
            if found > 0 {
                json.push(b',');
            }
            found += 1;
            json.extend_from_slice(page.v2().order(number).unwrap_or_default());
        }
        scanned += orders.len() - start;
        if scanned >= turn_ends_at {
            turn_ends_at = scanned + sizes.turn_orders;
            tokio::task::yield_now().await;
        }
    }
    None
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
    use store_orders_api::v2::{self, ListOrdersStatus};

    const DATES: [&str; 4] = [
        "2026-12-01T00:00:00Z",
        "2026-12-01T00:00:00.500Z",
        "2026-12-24T09:30:00Z",
        "9999-12-31T23:59:59.999999999Z",
    ];

    /// The fields that filters read. Tests choose among few values, so that filters match some
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
        Order { ship_date, complete, status, ..Order::new(id, pet_id, 1) }
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

    /// Generates changes of orders that happen between the requests for two pages. Each change
    /// adds, replaces or removes an order.
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

    /// The list must be so short that the search does not yield.
    fn page(
        list: &Snapshot,
        filter: &OrderFilter,
        from: i64,
        limit: usize,
    ) -> (Vec<v2::Order>, Option<i64>) {
        let mut json = vec![b'['];
        let next = find_orders(list, filter, from, limit, &mut json).now_or_never().unwrap();
        json.push(b']');
        (serde_json::from_slice(&json).unwrap(), next)
    }

    proptest! {
        #![proptest_config(testbed::property_config())]

        /// Each page agrees with a model while orders change between pages. No order may be on two
        /// pages, and no order that always matches may be missing.
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
                let on_page = expected.by_ref().take(*limit);
                let on_page: Vec<_> = on_page
                    .map(|(id, fields)| v2::Order::from(&build_order(*id, *fields)))
                    .collect();
                prop_assert_eq!(actual, on_page);
                prop_assert_eq!(next, expected.next().map(|(id, _)| *id));
                let Some(next) = next else { break };
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
        let (mut from, mut pages, mut json) = (i64::MIN, 0, Vec::new());
        while json.is_empty() {
            pages += 1;
            if let Some(next) = find_orders(&list, &filter, from, 1, &mut json).await {
                assert!(next > from && next - from.max(0) < SMALL.search_orders as i64 + 100);
                from = next;
            }
        }
        assert_eq!(pages, 10);
        assert!(json.starts_with(br#"{"id":100000,"#), "{json:?}");
    }
}
