//! The orders and pets of the test server.

use super::{Answer, Sent, Server, Success, Version};
use crate::document::{ErrorCode, Order, OrderId, Pet, PetId};
use chrono::{DateTime, Utc};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::SystemTime;

#[cfg(feature = "v2-beta")]
mod pages;

/// The key that a [`Server`] takes. It answers any other with 401 `unauthorized`.
pub const KEY: &str = "sto_test_0123456789abcdefghijklmnopqrstuvwxyz";

pub(super) const VERSIONS: &[Version] = &[
    crate::v1::testing::VERSION,
    #[cfg(feature = "v2-beta")]
    crate::v2::testing::VERSION,
];

#[derive(Debug, Default)]
pub(crate) struct Store {
    orders: BTreeMap<OrderId, Order>,
    shipped: BTreeSet<OrderId>,
    /// Cancelled orders, and when.
    cancelled: BTreeMap<OrderId, (Order, DateTime<Utc>)>,
    pets: BTreeMap<PetId, Pet>,
}

impl Server {
    /// Starts a server with these orders, all pending.
    ///
    /// It has a thread of its own, so it needs no tokio runtime and serves the blocking
    /// client as well. An error means that the system gives no thread or no port.
    pub fn start(orders: impl IntoIterator<Item = Order>) -> io::Result<Self> {
        let orders = orders.into_iter().map(|order| (order.id, order)).collect();
        Self::with(Store { orders, ..Store::default() })
    }

    /// The base URL to give to a client of version 2, with [`KEY`]. Needs the feature `v2-beta`.
    #[cfg(feature = "v2-beta")]
    pub fn v2_base_url(&self) -> String {
        format!("http://{}/v2", self.address)
    }

    /// The orders that are not cancelled, in ascending order of `id`.
    pub fn orders(&self) -> Vec<Order> {
        self.state().store.orders.values().cloned().collect()
    }

    /// Marks an order as shipped: it can no longer be cancelled. Its fields are unchanged.
    pub fn ship(&self, order_id: impl Into<OrderId>) {
        self.state().store.shipped.insert(order_id.into());
    }

    /// Adds a pet, or replaces the one with its id.
    pub fn add_pet(&self, pet: Pet) {
        self.state().store.pets.insert(pet.id, pet);
    }
}

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
