//! The client of version 2 of the API, which is in beta: the feature `v2-beta`.
//!
//! **A beta may change.** This module is outside the crate's promise of SemVer: a minor release
//! may change or remove it.
//!
//! The list comes in pages, can be filtered, and tells the [status](OrderStatus) of each order.
//! Retries, errors, rate limits, time-outs and spans are those of the
//! [client of version 1](crate::Client). Each page is a call of its own: one request, one span,
//! and as many retries as any other.
//!
//! ```
//! # #[cfg(feature = "testing")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use store_orders_client::v2::{Client, OrderStatus};
//! use store_orders_client::{Order, testing};
//!
//! let server = testing::Server::start((1..=120).map(|id| Order::new(id, 7, 1)))?;
//! server.ship(60);
//! let client = Client::new(server.v2_base_url(), testing::KEY)?;
//!
//! let mut orders = client.list_orders().pet_id(7).status(OrderStatus::Pending).limit(50).stream();
//! while let Some(order) = orders.next().await {
//!     client.cancel_order(order?.id).await?;
//! }
//! assert_eq!(server.orders().len(), 1);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "testing"))]
//! # fn main() {}
//! ```

#[cfg(feature = "blocking")]
pub mod blocking;
#[rustfmt::skip]
#[expect(dead_code, clippy::allow_attributes, clippy::unwrap_used, reason = "generated")]
pub(crate) mod generated;
mod list_orders;
mod order_status;
mod orders;
#[cfg(feature = "testing")]
pub(crate) mod test_pages;

pub use generated::order_status::OrderStatus;
pub use generated::types::{Order, OrderPage};
pub use list_orders::ListOrders;
pub use orders::Orders;

use crate::OrderId;
use crate::builder::{BuildError, ClientBuilder, Versioned};
use crate::call::Call;
use crate::error::Error;
use crate::operations::{converted, debug};
use crate::response::Response;
use crate::send::send;
use crate::span::in_span;
use list_orders::Query;
use progenitor_client::{ClientHooks, OperationInfo};
use std::fmt;

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

    /// Cancels a pending order: see [`crate::Client::cancel_order`].
    pub async fn cancel_order(&self, order_id: impl Into<OrderId>) -> Result<Response<()>, Error> {
        let (client, id) = (self.for_one_call(), order_id.into());
        let call = async { converted(client.cancel_order(&id).await, &client.inner).await };
        in_span("cancel_order", Some(id), None, call).await
    }

    /// One page of the list.
    async fn page(&self, query: &Query) -> Result<Response<OrderPage>, Error> {
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
