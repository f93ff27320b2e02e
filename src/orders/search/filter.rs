//! The filter for orders in version 2 and in the command `orders list`.

use crate::store::{Order, OrderStatus};
use chrono::{DateTime, Utc};
use std::fmt::Write;
use store_orders_api::types::utc_text;
use store_orders_api::v2::{ListOrdersQuery, ListOrdersStatus};

/// The conditions of a query. An order must meet all conditions that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFilter {
    pub pet_id: Option<i64>,
    pub status: Option<ListOrdersStatus>,
    /// If true, only fulfilled orders; if false, only orders that are not fulfilled.
    pub complete: Option<bool>,
    /// Only orders with this ship date or a later one.
    pub ship_date_from: Option<DateTime<Utc>>,
    pub ship_date_before: Option<DateTime<Utc>>,
}

impl From<&ListOrdersQuery> for OrderFilter {
    fn from(query: &ListOrdersQuery) -> OrderFilter {
        OrderFilter {
            pet_id: query.pet_id,
            status: query.status,
            complete: query.complete,
            ship_date_from: query.ship_date_from,
            ship_date_before: query.ship_date_before,
        }
    }
}

impl OrderFilter {
    /// True if the order matches every filter that is set. An order without a ship date does not
    /// match a filter on the ship date.
    pub fn matches(&self, order: &Order) -> bool {
        let OrderFilter { pet_id, status, complete, ship_date_from, ship_date_before } = self;
        let has_status = |status| match status {
            ListOrdersStatus::Pending => order.status == OrderStatus::Pending,
            ListOrdersStatus::Shipped => order.status == OrderStatus::Shipped,
        };
        let ship_date = order.ship_date;
        pet_id.is_none_or(|pet_id| order.pet_id == pet_id)
            && status.is_none_or(has_status)
            && complete.is_none_or(|complete| order.complete == complete)
            && ship_date_from.is_none_or(|from| ship_date.is_some_and(|date| date >= from))
            && ship_date_before.is_none_or(|before| ship_date.is_some_and(|date| date < before))
    }

    /// Formats the filter as query parameters, each preceded by `&`. Equal filters give equal
    /// strings.
    pub fn query(&self) -> String {
        let OrderFilter { pet_id, status, complete, ship_date_from, ship_date_before } = self;
        let parameters = [
            ("petId", pet_id.map(|id| id.to_string())),
            ("status", status.map(|status| status.as_str().to_string())),
            ("complete", complete.map(|complete| complete.to_string())),
            ("shipDateFrom", ship_date_from.as_ref().map(utc_text)),
            ("shipDateBefore", ship_date_before.as_ref().map(utc_text)),
        ];
        let mut query = String::new();
        for (name, value) in parameters {
            if let Some(value) = value {
                let _ = write!(query, "&{name}={value}");
            }
        }
        query
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store_orders_api::parameters::{Parameters, SentParameters};

    fn parse_query(query: &str) -> ListOrdersQuery {
        let sent = SentParameters::from_query(query, ListOrdersQuery::NAMES).unwrap();
        ListOrdersQuery::read(&sent).unwrap()
    }

    #[test]
    fn a_filter_has_one_canonical_query() {
        let query = parse_query(
            "limit=1000&petId=-7&status=shipped&complete=false&cursor=a-_\
             &shipDateFrom=2026-12-24T09:30:00%2B02:00&shipDateBefore=2027-01-01t00:00:00.5z",
        );
        assert_eq!((query.limit, query.cursor.as_deref()), (1_000, Some("a-_")));
        let filter = OrderFilter::from(&query);
        let text = filter.query();
        assert_eq!(
            text,
            "&petId=-7&status=shipped&complete=false&shipDateFrom=2026-12-24T07:30:00Z\
             &shipDateBefore=2027-01-01T00:00:00.500Z"
        );
        assert_eq!(OrderFilter::from(&parse_query(&text)), filter);
        for empty in ["", "&", "&&"] {
            assert_eq!(OrderFilter::from(&parse_query(empty)), OrderFilter::default());
        }
    }
}
