//! Converts a stored order to the order of each API version.

use crate::store::{Order, OrderStatus};
use store_orders_api::{v1, v2};

impl From<&Order> for v1::Order {
    fn from(order: &Order) -> v1::Order {
        let Order { id, pet_id, quantity, ship_date, complete, status: _ } = *order;
        v1::Order { id, pet_id, quantity: quantity.into(), ship_date, complete }
    }
}

impl From<&Order> for v2::Order {
    fn from(order: &Order) -> v2::Order {
        let Order { id, pet_id, quantity, ship_date, complete, ref status } = *order;
        let (status, cancelled_at) = match status {
            OrderStatus::Pending => (v2::OrderStatus::Pending, None),
            OrderStatus::Shipped => (v2::OrderStatus::Shipped, None),
            OrderStatus::Cancelled(cancelled) => (v2::OrderStatus::Cancelled, Some(cancelled.at)),
        };
        let quantity = quantity.into();
        v2::Order { id, pet_id, quantity, ship_date, complete, status, cancelled_at }
    }
}
