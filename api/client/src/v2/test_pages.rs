//! A page of the list, as the server for users' tests answers.

use super::generated::types::{Order, OrderPage};
use crate::generated::types::{self, OrderId};
use chrono::{DateTime, Utc};
use reqwest::Url;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;

const PARAMETERS: [&str; 7] =
    ["complete", "cursor", "limit", "petId", "shipDateBefore", "shipDateFrom", "status"];

/// The order as version 2 shows it.
pub(crate) fn as_v2(
    order: &types::Order,
    is_shipped: bool,
    cancelled_at: Option<DateTime<Utc>>,
) -> Order {
    let listed = if is_shipped { "shipped" } else { "pending" };
    Order {
        id: order.id,
        pet_id: order.pet_id,
        quantity: order.quantity,
        ship_date: order.ship_date,
        complete: order.complete,
        status: if cancelled_at.is_some() { "cancelled".into() } else { listed.into() },
        cancelled_at,
    }
}

/// The page that the query asks for with its `Link`, or the message of a 400.
pub(crate) fn page(
    orders: &BTreeMap<OrderId, types::Order>,
    shipped: &BTreeSet<OrderId>,
    query: &str,
) -> Result<(OrderPage, Option<String>), String> {
    let parameters = parameters(query)?;
    let get = |name: &str| parameters.get(name).map(String::as_str);
    let number = |text: &str| text.parse().ok().filter(|number: &i64| number.to_string() == text);
    let boolean = |text: &str| text.parse::<bool>().ok();
    let time = |text: &str| DateTime::parse_from_rfc3339(text).ok();
    let status = |text: &str| ["pending", "shipped"].contains(&text).then(|| text.to_string());

    let limit = parsed("limit", get("limit"), |text| {
        number(text).filter(|limit| (1..=1_000).contains(limit))
    })?;
    let pet_id = parsed("petId", get("petId"), number)?;
    let complete = parsed("complete", get("complete"), boolean)?;
    let from = parsed("shipDateFrom", get("shipDateFrom"), time)?;
    let before = parsed("shipDateBefore", get("shipDateBefore"), time)?;
    let status = parsed("status", get("status"), status)?;
    let filters = hash_of_filters(&parameters);
    let after = parsed("cursor", get("cursor"), |cursor| last_id(cursor, filters))?;

    let start = after.map_or(Bound::Unbounded, Bound::Excluded);
    let orders = orders.range((start, Bound::Unbounded));
    let orders = orders.map(|(id, order)| as_v2(order, shipped.contains(id), None));
    let is_asked_for = |order: &Order| {
        pet_id.is_none_or(|id| *order.pet_id == id)
            && complete.is_none_or(|complete| order.complete == complete)
            && from.is_none_or(|from| order.ship_date.is_some_and(|date| date >= from))
            && before.is_none_or(|before| order.ship_date.is_some_and(|date| date < before))
            && status.as_ref().is_none_or(|status| order.status.as_str() == status)
    };
    let mut matching = orders.filter(is_asked_for).peekable();
    let limit = limit.unwrap_or(100);
    let count = usize::try_from(limit).unwrap_or_default();
    let page: Vec<Order> = matching.by_ref().take(count).collect();
    let last = page.last().filter(|_| matching.peek().is_some());
    let next_cursor = last.map(|order| format!("{:016x}{filters:016x}", *order.id));
    let link = next_cursor.as_ref().map(|cursor| link(&parameters, cursor, limit));
    Ok((OrderPage { orders: page, next_cursor }, link))
}

/// The parameters by name: each is known, and has one value.
fn parameters(query: &str) -> Result<BTreeMap<String, String>, String> {
    let mut parameters = BTreeMap::new();
    let url = Url::parse(&format!("http://localhost/?{query}")).map_err(|e| e.to_string())?;
    for (name, value) in url.query_pairs() {
        if !PARAMETERS.contains(&&*name) {
            return Err(format!("There is no query parameter {name}."));
        }
        if value.is_empty() || parameters.insert(name.to_string(), value.to_string()).is_some() {
            return Err(format!("The query parameter {name} is empty or repeated."));
        }
    }
    Ok(parameters)
}

fn parsed<T>(
    name: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    let wrong =
        || format!("The query parameter {name} has a value that the API does not document.");
    text.map(|text| parse(text).ok_or_else(wrong)).transpose()
}

/// The parameters that the pages of one list share.
fn filters(parameters: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    parameters.iter().filter(|(name, _)| !matches!(&***name, "cursor" | "limit"))
}

/// Tells the filters of one list from those of another.
fn hash_of_filters(parameters: &BTreeMap<String, String>) -> u64 {
    let mut hasher = DefaultHasher::new();
    filters(parameters).collect::<Vec<_>>().hash(&mut hasher);
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
fn link(parameters: &BTreeMap<String, String>, cursor: &str, limit: i64) -> String {
    let Ok(mut next) = Url::parse("http://localhost/") else { return String::new() };
    next.query_pairs_mut()
        .append_pair("cursor", cursor)
        .append_pair("limit", &limit.to_string())
        .extend_pairs(filters(parameters));
    format!("<?{}>; rel=\"next\"", next.query().unwrap_or_default())
}
