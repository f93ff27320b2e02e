//! Starts the test server with orders, and arranges what tests need.

use super::server::Server;
use super::store::Store;
use crate::document::{Order, OrderId, Pet};
use std::io;

impl Server {
    /// Starts a server with these orders, all pending.
    ///
    /// It has a thread of its own, so it needs no tokio runtime and serves the blocking
    /// client as well. An error means that the system gives no thread or no port.
    pub fn start(orders: impl IntoIterator<Item = Order>) -> io::Result<Self> {
        let orders = orders.into_iter().map(|order| (order.id, order)).collect();
        Self::with(Store { orders, ..Store::default() })
    }

    /// The base URL to give to a client of version 2, with [`KEY`](super::KEY). Needs the feature `v2-beta`.
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
