//! The client of version 2 and its operations: for each generated method a public one, and one that
//! blocks; and the request for a list.

use super::generated;
use super::generated::order_status::OrderStatus;
use crate::builder::{BuildError, ClientBuilder, Versioned};
use crate::call::Call;
use crate::error::Error;
use crate::generated::types::{OrderId, PetId};
use crate::operations::{converted, debug};
use crate::response::Response;
use crate::send::send;
use crate::span::in_span;
use chrono::{DateTime, Utc};
use progenitor_client::{ClientHooks, OperationInfo};
use std::fmt;

// The records of the operations.
pub use super::generated::types::{Order, OrderPage};

/// A client of one Store Orders service, for version 2 of its API. Cloning is cheap and shares
/// the connections.
#[derive(Clone)]
pub struct Client {
    /// Sends nothing itself: each call is made by a copy with a [`Call`] of its own.
    generated: generated::Client,
}

impl Client {
    /// A client with the default time-outs and [`RetryPolicy`](crate::RetryPolicy): see
    /// [`crate::Client::new`]. `base_url` ends in `/v2`.
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        Self::builder(base_url, key).build()
    }

    /// Like [`new`](Self::new), with options to set before [`build`](ClientBuilder::build).
    pub fn builder(base_url: impl Into<String>, key: impl Into<String>) -> ClientBuilder<Self> {
        ClientBuilder::new(base_url.into(), key.into())
    }

    /// Lists orders of the store in ascending order of `id`: a request to set filters of,
    /// before [`send`](ListOrders::send) or [`stream`](ListOrders::stream).
    pub fn list_orders(&self) -> ListOrders {
        ListOrders::new(self.clone())
    }

    /// Looks up an order. A cancelled one is found as well, for good: after
    /// [`cancel_order`](Self::cancel_order) without a response it tells what became of the order.
    pub async fn get_order(&self, order_id: impl Into<OrderId>) -> Result<Response<Order>, Error> {
        let (client, id) = (self.for_one_call(), order_id.into());
        let call = async { converted(client.get_order(&id, None).await, &client.inner).await };
        in_span("get_order", Some(id), None, call).await
    }

    /// Cancels a pending order: see [`crate::Client::cancel_order`].
    pub async fn cancel_order(&self, order_id: impl Into<OrderId>) -> Result<Response<()>, Error> {
        let (client, id) = (self.for_one_call(), order_id.into());
        let call = async { converted(client.cancel_order(&id).await, &client.inner).await };
        in_span("cancel_order", Some(id), None, call).await
    }

    /// One page of the list.
    pub(super) async fn page(&self, query: &Query) -> Result<Response<OrderPage>, Error> {
        let client = self.for_one_call();
        let call = async {
            let page = client.list_orders(
                query.complete,
                query.cursor.as_deref(),
                query.limit.map(i64::from),
                query.pet_id.as_ref(),
                query.ship_date_before.as_ref(),
                query.ship_date_from.as_ref(),
                query.status.as_ref(),
                None,
            );
            let page = converted(page.await, &client.inner).await;
            page.map_err(|error| error.at_cursor(query.cursor.clone()))
        };
        in_span("list_orders", None, query.pet_id, call).await
    }

    fn for_one_call(&self) -> generated::Client {
        let mut client = self.generated.clone();
        client.inner = client.inner.next();
        client
    }
}

#[cfg(feature = "blocking")]
impl super::blocking::Client {
    /// Lists orders: a request to set filters of, then one page with [`send`](ListOrders::send), or
    /// the orders of all pages in a `for` loop.
    pub fn list_orders(&self) -> ListOrders<Self> {
        ListOrders::new(self.clone())
    }

    /// Looks up an order, also a cancelled one: see [`Client::get_order`].
    pub fn get_order(&self, order_id: impl Into<OrderId>) -> Result<Response<Order>, Error> {
        self.runtime.block_on(self.client.get_order(order_id))
    }

    /// Cancels a pending order: see [`crate::Client::cancel_order`].
    pub fn cancel_order(&self, order_id: impl Into<OrderId>) -> Result<Response<()>, Error> {
        self.runtime.block_on(self.client.cancel_order(order_id))
    }
}

impl Versioned for Client {
    const BASE_PATH: &'static str = "/v2";
    const WRONG_BASE_PATH: &'static str =
        "must end in /v2, the version of the API that this client speaks: append /v2";

    fn from_parts(base_url: &str, http: reqwest::Client, call: Call) -> Self {
        Self { generated: generated::Client::new_with_client(base_url, http, call) }
    }
}

impl ClientHooks<Call> for generated::Client {
    async fn exec(
        &self,
        request: reqwest::Request,
        info: &OperationInfo,
    ) -> reqwest::Result<reqwest::Response> {
        send(&self.inner, info.operation_id, request, |request| self.client.execute(request)).await
    }
}

/// Shows no key: it is a header of the HTTP client, which is left out.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug(&self.generated, f)
    }
}

/// A request for the list of orders. All filters that are set hold together. From
/// [`Client::list_orders`](super::Client::list_orders).
///
/// ```no_run
/// # use store_orders_client::v2::{Client, OrderStatus};
/// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let page = client.list_orders().pet_id(7).complete(false).limit(50).send().await?;
/// for order in &page.orders {
///     println!("order {} is {}", order.id, order.status);
/// }
/// let next = page.next_cursor.as_ref();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct ListOrders<C = Client> {
    pub(super) client: C,
    pub(super) query: Query,
}

/// The parameters of the list; those that are not set are not sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    pub(super) complete: Option<bool>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) pet_id: Option<PetId>,
    pub(super) ship_date_before: Option<DateTime<Utc>>,
    pub(super) ship_date_from: Option<DateTime<Utc>>,
    pub(super) status: Option<OrderStatus>,
}

impl<C> ListOrders<C> {
    pub(super) fn new(client: C) -> Self {
        Self { client, query: Query::default() }
    }

    /// Only orders of this pet.
    pub fn pet_id(mut self, pet_id: impl Into<PetId>) -> Self {
        self.query.pet_id = Some(pet_id.into());
        self
    }

    /// Only orders of this status.
    pub fn status(mut self, status: OrderStatus) -> Self {
        self.query.status = Some(status);
        self
    }

    /// Only orders that have been fulfilled, or only those that have not.
    pub fn complete(mut self, complete: bool) -> Self {
        self.query.complete = Some(complete);
        self
    }

    /// Only orders with a ship date at this time or later. One without a ship date does not match.
    pub fn ship_date_from(mut self, time: impl Into<DateTime<Utc>>) -> Self {
        self.query.ship_date_from = Some(time.into());
        self
    }

    /// Only orders with a ship date before this time. One without a ship date does not match.
    pub fn ship_date_before(mut self, time: impl Into<DateTime<Utc>>) -> Self {
        self.query.ship_date_before = Some(time.into());
        self
    }

    /// How many orders a page may have at most: 1 to 1,000, 100 unless set. The server refuses
    /// any other.
    pub fn limit(mut self, orders: u32) -> Self {
        self.query.limit = Some(orders);
        self
    }

    /// The page that this cursor is for, and not the first: from
    /// [`OrderPage::next_cursor`] or [`Error::cursor`], with the same filters. The limit may
    /// differ.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.query.cursor = Some(cursor.into());
        self
    }
}

impl ListOrders {
    /// One page.
    ///
    /// Its `next_cursor` is that of the next page, and `None` on the last one. A page may hold
    /// fewer orders than the limit, even none, although there is a next page.
    pub async fn send(self) -> Result<Response<OrderPage>, Error> {
        self.client.page(&self.query).await
    }
}
