//! What the test server answers from its orders and pets.

use super::request::Sent;
use super::route::{Answer, Success, Version};
use super::store::Store;
use crate::document::{ErrorCode, OrderId, PetId};
use std::time::SystemTime;

#[cfg(feature = "v2-beta")]
mod pages;

pub(super) const VERSIONS: &[Version] = &[
    crate::v1::testing::VERSION,
    #[cfg(feature = "v2-beta")]
    crate::v2::testing::VERSION,
];

impl crate::v1::testing::Operations for Store {
    fn list_orders(&mut self, _: &Sent) -> Answer {
        Ok(Success::json(&self.orders.values().collect::<Vec<_>>()))
    }

    fn cancel_order(&mut self, sent: &Sent) -> Answer {
        let id = sent.parsed::<OrderId>("orderId").unwrap_or(OrderId(0));
        if self.orders.contains_key(&id) && self.shipped.contains(&id) {
            let message = format!("Order {id} has already shipped and cannot be cancelled.");
            return Err((ErrorCode::OrderAlreadyShipped, message));
        }
        let missing = || format!("There is no order {id}, or it is already cancelled.");
        let order = self.orders.remove(&id);
        let order = order.ok_or_else(|| (ErrorCode::OrderNotFound, missing()))?;
        self.cancelled.insert(id, (order, SystemTime::now().into()));
        Ok(Success::empty(204))
    }

    fn get_pet(&mut self, sent: &Sent) -> Answer {
        let id = sent.parsed::<PetId>("petId").unwrap_or(PetId(0));
        let pet = self.pets.get(&id).map(Success::json);
        pet.ok_or_else(|| (ErrorCode::PetNotFound, format!("There is no pet {id}.")))
    }
}
