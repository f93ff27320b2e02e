//! Version 1 of the API.

use crate::answer::{convert, or_empty, with_outcome};
use crate::builder::{BuildError, ClientBuilder};
use crate::error::Error;
use crate::generated::v1 as generated;
use crate::response::Response;
use crate::span::{call_span, in_span};
use crate::v2::ClientV2;
use crate::values::ErrorCode;
use crate::version::client_of_version;

pub use generated::types::{Error as ErrorBody, Order, OrderId, Pet, PetId};

client_of_version! {
    /// A client of version 1 of the Store Orders API. [`v2`](Self::v2) returns the client of
    /// version 2. Cloning is cheap and shares the connections.
    Client,
    generated::Client,
    "/v1"
}

impl Client {
    /// A client with the default time-outs and [`RetryPolicy`](crate::RetryPolicy).
    ///
    /// `base_url` may end in `/v1` or `/v2`, but the ending does not select the version: this
    /// client always calls version 1, and the client from [`v2`](Self::v2) always version 2. Any
    /// path before the version is allowed.
    ///
    /// `key` is an API key, issued by the operator of the service: `sto_live_` or `sto_test_`, then
    /// 36 letters and digits.
    ///
    /// Fails if the base URL or the key is malformed. Sends nothing: the first request opens the
    /// first connection.
    pub fn new(base_url: impl Into<String>, key: impl Into<String>) -> Result<Self, BuildError> {
        Self::builder(base_url, key).build()
    }

    /// Like [`new`](Self::new), with options to set before [`build`](ClientBuilder::build).
    pub fn builder(base_url: impl Into<String>, key: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(base_url.into(), key.into())
    }

    /// The client of version 2, for new programs. It shares connections, options and limits with
    /// this client.
    pub fn v2(&self) -> ClientV2 {
        let Self { generated } = self;
        let root = generated.baseurl.strip_suffix("/v1").unwrap_or(&generated.baseurl);
        ClientV2::from_parts(root, generated.client.clone(), generated.inner.clone())
    }

    /// Look up a pet.
    ///
    /// Deprecated from 1 December 2026: do not use it in new code. It may be removed at any time
    /// after 1 December 2027. Every response of this path carries both dates in its `Deprecation`
    /// and `Sunset` headers.
    ///
    /// # Errors
    ///
    /// [`PetNotFound`](ErrorCode::PetNotFound), and the errors of [all operations](crate#errors).
    #[deprecated(
        note = "Deprecated from 1 December 2026: do not use it in new code; it may be removed after 2027-12-01"
    )]
    pub async fn get_pet(&self, pet_id: impl Into<PetId>) -> Result<Response<Pet>, Error> {
        let pet_id: PetId = pet_id.into();
        let client = self.for_one_call();
        let call = async { convert(client.get_pet(&pet_id).await, &client.inner).await };
        in_span(call_span!("get_pet", pet_id = i64::from(pet_id)), call).await
    }

    /// List orders.
    ///
    /// Returns all orders of the store in ascending order of `id`. There are no parameters: filters
    /// and pages are in version 2. A list that is requested after a cancellation was answered does
    /// not contain the order.
    pub async fn list_orders(&self) -> Result<Response<Vec<Order>>, Error> {
        self.list_orders_with(None).await
    }

    /// Like [`list_orders`](Self::list_orders), but if the list still has this `ETag`, the value is
    /// `None`, and the list is not transferred.
    pub async fn list_orders_if_changed(
        &self,
        etag: impl Into<String>,
    ) -> Result<Response<Option<Vec<Order>>>, Error> {
        or_empty(self.list_orders_with(Some(etag.into())).await, &[304])
    }

    async fn list_orders_with(
        &self,
        if_none_match: Option<String>,
    ) -> Result<Response<Vec<Order>>, Error> {
        let client = self.for_one_call();
        let call = async {
            let answer = client.list_orders(if_none_match.as_deref()).await;
            convert(answer, &client.inner).await
        };
        in_span(call_span!("list_orders"), call).await
    }

    /// Cancel an order.
    ///
    /// Cancels a pending order: it is removed from the list at once, and its identifier is never
    /// used again. An order that has already shipped cannot be cancelled and is unchanged.
    /// Cancelling the same order a second time is answered with 404; of several concurrent requests
    /// exactly one is answered with 204. After a 500, 502, 503 or 504, or if no response arrives,
    /// the order may have been cancelled nevertheless: repeat the request. A 404 then means that
    /// the order is not there, possibly cancelled by an earlier attempt: take it as success.
    /// `If-Match` and `If-Unmodified-Since` are ignored: the order is cancelled whatever they say.
    /// A repeated request cannot cancel another order, and one that has shipped is never cancelled;
    /// to check more than that, read the list first.
    ///
    /// The value says what became of the order: see [`CancelOrderOutcome`].
    ///
    /// # Errors
    ///
    /// [`OrderNotFound`](ErrorCode::OrderNotFound),
    /// [`OrderAlreadyShipped`](ErrorCode::OrderAlreadyShipped), and the errors of
    /// [all operations](crate#errors).
    pub async fn cancel_order(
        &self,
        order_id: impl Into<OrderId>,
    ) -> Result<Response<CancelOrderOutcome>, Error> {
        let order_id: OrderId = order_id.into();
        let client = self.for_one_call();
        let call = async {
            let answer = client.cancel_order(&order_id).await;
            with_outcome(
                convert(answer, &client.inner).await,
                CancelOrderOutcome::Cancelled,
                CancelOrderOutcome::AlreadyGone,
                &[ErrorCode::OrderNotFound],
            )
        };
        in_span(call_span!("cancel_order", order_id = i64::from(order_id)), call).await
    }
}

/// The meaning of a success of `cancel_order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelOrderOutcome {
    /// This call cancelled the order.
    Cancelled,
    /// There is no pending order of this id any more. An earlier attempt of this call, which got no
    /// response or a 5xx, may have cancelled it. [`ClientV2::get_order`] returns whether it is
    /// cancelled, and when.
    AlreadyGone,
}
