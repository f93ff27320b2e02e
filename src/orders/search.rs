//! The orders of a snapshot that match a filter, from some id on, as v2 lists them. The work for
//! one search is bounded, whatever the filter.

use super::mark::{MarkFilter, pet_hash};
use super::page::Page;
use super::snapshot::Snapshot;
use chrono::{DateTime, Utc};
use serde::Deserialize;
use std::ops::ControlFlow;
use store_orders_api::order_query::OrderFilter;

/// After this much work a search ends, with the orders found so far. A unit is about a
/// nanosecond.
const MAX_WORK: usize = 8_000_000;

/// After this much work other requests have their turn.
const TURN_WORK: usize = 300_000;

/// To look at an order's mark.
const MARK_WORK: usize = 1;

/// To sort an order's mark among those of its page.
const INDEX_WORK: usize = 20;

/// To look a pet up in a page.
const PAGE_WORK: usize = 100;

/// To parse an order's text.
const TEXT_WORK: usize = 250;

/// A search under way.
struct Search<'a> {
    filter: &'a OrderFilter,
    marks: MarkFilter,
    limit: usize,
    /// How many orders have been found.
    found: usize,
    work: usize,
    /// The orders found, separated by commas.
    orders: &'a mut Vec<u8>,
}

/// What a filter reads of an order's text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    pet_id: i64,
    #[serde(borrow)]
    ship_date: Option<&'a str>,
}

/// Adds the orders of this list that match, in ascending order from the id `from` on, up to
/// `limit` of them. Returns the id to go on from, unless there is no more to find.
pub async fn find_orders(
    list: &Snapshot,
    filter: &OrderFilter,
    from: i64,
    limit: usize,
    orders: &mut Vec<u8>,
) -> Option<i64> {
    let marks = MarkFilter::of(filter);
    let mut search = Search { filter, marks, limit, found: 0, work: 0, orders };
    let mut turn_ends_at = TURN_WORK;
    for page in list.pages_from(from) {
        if search.work >= MAX_WORK {
            return page.ids().first().copied();
        }
        if let ControlFlow::Break(next) = search.look_through(page, from) {
            return Some(next);
        }
        if search.work >= turn_ends_at {
            turn_ends_at = search.work + TURN_WORK;
            tokio::task::yield_now().await;
        }
    }
    None
}

impl Search<'_> {
    /// Looks at the orders of a page from this id on. Breaks at the first that matches and has
    /// no room.
    fn look_through(&mut self, page: &Page, from: i64) -> ControlFlow<i64> {
        let start = page.ids().partition_point(|id| *id < from);
        let Some(pet_id) = self.filter.pet_id else {
            return (start..page.ids().len()).try_for_each(|order| self.look_at(page, order));
        };
        if !page.has_pet_index() {
            self.work += INDEX_WORK * page.ids().len();
        }
        self.work += PAGE_WORK;
        let mut of_pet = page.orders_of_pet(pet_hash(pet_id)).filter(|order| *order >= start);
        of_pet.try_for_each(|order| self.look_at(page, order))
    }

    fn look_at(&mut self, page: &Page, order: usize) -> ControlFlow<i64> {
        self.work += MARK_WORK;
        let Some(mark) = page.marks().get(order).filter(|mark| self.marks.allows(**mark)) else {
            return ControlFlow::Continue(());
        };
        // Always there: an order of the page has both.
        let (Some(id), Some(text)) = (page.ids().get(order), page.order(order)) else {
            return ControlFlow::Continue(());
        };
        if !self.text_matches(text) {
            return ControlFlow::Continue(());
        }
        if self.found == self.limit {
            return ControlFlow::Break(*id);
        }
        if self.found > 0 {
            self.orders.push(b',');
        }
        self.found += 1;
        self.orders.extend_from_slice(text.strip_suffix(b"}").unwrap_or(text));
        self.orders.extend_from_slice(b",\"status\":\"");
        self.orders.extend_from_slice(mark.status().as_str().as_bytes());
        self.orders.extend_from_slice(b"\"}");
        ControlFlow::Continue(())
    }

    /// Whether an order whose mark matches does so itself.
    fn text_matches(&mut self, text: &[u8]) -> bool {
        let OrderFilter { pet_id, ship_date_from, ship_date_before, .. } = self.filter;
        let needs_date = ship_date_from.is_some() || ship_date_before.is_some();
        if pet_id.is_none() && !needs_date {
            return true;
        }
        self.work += TEXT_WORK;
        // Our own text: it can be parsed.
        let Ok(fields) = serde_json::from_slice::<Fields<'_>>(text) else { return false };
        if pet_id.is_some_and(|pet_id| pet_id != fields.pet_id) {
            return false;
        }
        if !needs_date {
            return true;
        }
        let date = fields.ship_date.and_then(|date| DateTime::parse_from_rfc3339(date).ok());
        date.map(|date| date.with_timezone(&Utc)).is_some_and(|date| {
            ship_date_from.is_none_or(|from| date >= from)
                && ship_date_before.is_none_or(|before| date < before)
        })
    }
}
