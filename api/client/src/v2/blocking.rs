//! The client of version 2 for programs without async code: the features `v2-beta` and
//! `blocking`. Its operations stand with the others.

use super::generated::types::{Order, OrderPage};
use super::operations::{self, ListOrders};
use super::orders;
use crate::blocking::runtime;
use crate::builder::{BuildError, ClientBuilder};
use crate::error::Error;
use crate::response::Response;
use std::fmt;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// A client whose calls block until the response is there: what
/// [`blocking::Client`](crate::blocking::Client) is for version 1, this is for version 2.
///
/// ```
/// # #[cfg(feature = "testing")] {
/// use store_orders_client::v2::{OrderStatus, blocking};
/// use store_orders_client::{Order, testing};
///
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = testing::Server::start([Order::new(1042, 7, 2)])?;
/// let client = blocking::Client::new(server.v2_base_url(), testing::KEY)?;
/// for order in client.list_orders().pet_id(7).status(OrderStatus::Pending) {
///     client.cancel_order(order?.id)?;
/// }
/// # Ok(())
/// # }
/// # example().unwrap();
/// # }
/// ```
///
/// # Panics
///
/// Its calls panic in async code, as does dropping the last clone there.
#[derive(Clone)]
pub struct Client {
    pub(super) client: operations::Client,
    pub(super) runtime: Arc<Runtime>,
}

impl Client {
    /// A client with the default time-outs and retries. For others use
    /// [`v2::Client::builder`](super::Client::builder) and
    /// [`build_blocking`](ClientBuilder::build_blocking).
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        operations::Client::builder(base_url, key).build_blocking()
    }
}

impl ClientBuilder<operations::Client> {
    /// Like [`build`](Self::build), for programs without async code. Needs the feature
    /// `blocking`.
    pub fn build_blocking(self) -> Result<Client, BuildError> {
        Ok(Client { client: self.build()?, runtime: runtime()? })
    }
}

impl ListOrders<Client> {
    /// One page.
    pub fn send(self) -> Result<Response<OrderPage>, Error> {
        self.client.runtime.block_on(self.client.client.page(&self.query))
    }
}

/// The orders of all pages.
impl IntoIterator for ListOrders<Client> {
    type Item = Result<Order, Error>;
    type IntoIter = Orders;

    fn into_iter(self) -> Orders {
        let Client { client, runtime } = self.client;
        Orders { orders: ListOrders { client, query: self.query }.stream(), runtime }
    }
}

/// The orders of all pages, up to the first error: see [`v2::Orders`](super::Orders).
#[derive(Debug)]
pub struct Orders {
    orders: orders::Orders,
    runtime: Arc<Runtime>,
}

impl Iterator for Orders {
    type Item = Result<Order, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.orders.next())
    }
}

/// Shows no key.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}
