//! The orders of the test server as version 2 shows them.

use crate::document::{self, ErrorCode, OrderId};
use crate::testing::request::Sent;
use crate::testing::route::{Answer, Success};
use crate::testing::store::Store;
use crate::v2::testing::VERSION;
use crate::v2::{Order, OrderPage, OrderStatus};
use chrono::{DateTime, Utc};
use reqwest::Url;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

const LIMIT: usize = 100;

impl crate::v2::testing::Operations for Store {
    fn list_orders(&mut self, sent: &Sent) -> Answer {
        let filters = hash_of_filters(sent);
        let after = sent.get("cursor").map(|cursor| {
            last_id(cursor, filters).ok_or_else(|| {
                let message = "The query parameter cursor is not one of this list.";
                (ErrorCode::InvalidParameter, message.to_string())
            })
        });
        let start = after.transpose()?.map_or(Bound::Unbounded, Bound::Excluded);
        let orders = self.orders.range((start, Bound::Unbounded));
        let orders = orders.map(|(id, order)| as_v2(order, self.listed_status(id), None));
        let mut matching = orders.filter(|order| matches(order, sent)).peekable();
        let limit = sent.parsed("limit").unwrap_or(LIMIT);
        let page: Vec<Order> = matching.by_ref().take(limit).collect();
        let last = page.last().filter(|_| matching.peek().is_some());
        let next_cursor = last.map(|order| format!("{:016x}{filters:016x}", *order.id));
        let link = next_cursor.as_ref().map(|cursor| link(sent, cursor, limit));
        let success = Success::json(&OrderPage { orders: page, next_cursor });
        Ok(link.into_iter().fold(success, |success, link| success.header("link", link)))
    }

    fn get_order(&mut self, sent: &Sent) -> Answer {
        let id = sent.parsed::<OrderId>("orderId").unwrap_or(OrderId(0));
        let listed = self.orders.get(&id).map(|of| as_v2(of, self.listed_status(&id), None));
        let cancelled =
            || self.cancelled.get(&id).map(|(of, at)| as_v2(of, OrderStatus::Cancelled, Some(*at)));
        let found = listed.or_else(cancelled).map(|order| Success::json(&order));
        found.ok_or_else(|| (ErrorCode::OrderNotFound, format!("There is no order {id}.")))
    }

    fn cancel_order(&mut self, sent: &Sent) -> Answer {
        crate::v1::testing::Operations::cancel_order(self, sent)
    }
}

impl Store {
    fn listed_status(&self, id: &OrderId) -> OrderStatus {
        if self.shipped.contains(id) { OrderStatus::Shipped } else { OrderStatus::Pending }
    }
}

fn as_v2(
    order: &document::Order,
    status: OrderStatus,
    cancelled_at: Option<DateTime<Utc>>,
) -> Order {
    let mut shown = Order::new(order.id, order.pet_id, order.quantity, status);
    (shown.complete, shown.ship_date, shown.cancelled_at) =
        (order.complete, order.ship_date, cancelled_at);
    shown
}

/// Whether an order meets all filters.
fn matches(order: &Order, sent: &Sent) -> bool {
    let time = |name: &str| sent.get(name).and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    sent.parsed("petId").is_none_or(|id: i64| *order.pet_id == id)
        && sent.parsed("complete").is_none_or(|complete: bool| order.complete == complete)
        && sent.get("status").is_none_or(|status| order.status.as_str() == status)
        && time("shipDateFrom").is_none_or(|from| order.ship_date.is_some_and(|date| date >= from))
        && time("shipDateBefore").is_none_or(|end| order.ship_date.is_some_and(|date| date < end))
}

/// Tells the filters of one list from those of another.
fn hash_of_filters(sent: &Sent) -> u64 {
    let mut hasher = DefaultHasher::new();
    sent.others(&["cursor", "limit"]).hash(&mut hasher);
    hasher.finish()
}

/// The id after which the page of a cursor begins, if it is one for these filters.
fn last_id(cursor: &str, filters: u64) -> Option<OrderId> {
    let (id, of) = cursor.split_at_checked(16)?;
    let id = u64::from_str_radix(id, 16).ok()?;
    let is_for_these = of == format!("{filters:016x}");
    is_for_these.then(|| OrderId(id.cast_signed()))
}

/// The `Link` to the next page.
fn link(sent: &Sent, cursor: &str, limit: usize) -> String {
    let Ok(mut next) = Url::parse("http://localhost/") else { return String::new() };
    next.query_pairs_mut()
        .append_pair("cursor", cursor)
        .append_pair("limit", &limit.to_string())
        .extend_pairs(sent.others(&["cursor", "limit"]));
    let (base_path, query) = (VERSION.base_path, next.query().unwrap_or_default());
    format!("<{base_path}/store/orders?{query}>; rel=\"next\"")
}
