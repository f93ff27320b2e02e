//! Version 1 of the API: the whole list of orders, cancellations, and pets.

use crate::answer::{send, send_and_map, unless_unchanged};
use crate::call::Call;
use crate::error::Error;
use crate::generated::v1::{self as generated, CancelOrder, GetPet, ListOrders};
use crate::outcome::CancelOrderOutcome;
use crate::response::Response;
use crate::version::client_of_version;

pub use generated::types::{Error as ErrorBody, Order, OrderId, Pet, PetId};

client_of_version! {
    /// A client of version 1 of the Store Orders API. [`v2`](Self::v2) returns the client of
    /// version 2. Cloning is cheap; clones share the connections and the rate limit.
    Client,
    generated::Client,
    "/v1"
}

impl Client {
    /// Returns the parts that the clients of all versions share: the base URL without `/v1`, the
    /// HTTP client and the options.
    pub(crate) fn parts(&self) -> (&str, reqwest::Client, Call) {
        let Self { generated } = self;
        let root = generated.baseurl.strip_suffix("/v1").unwrap_or(&generated.baseurl);
        (root, generated.client.clone(), generated.inner.clone())
    }

    /// Look up a pet.
    ///
    /// Deprecated from 1 December 2026: do not use it in new code.
    ///
    /// - **200**: the name of the pet.
    /// - **404**: there is no such pet.
    /// - **Removal**: possible at any time after 1 December 2027. Every response has both dates, in
    ///   `Deprecation` and `Sunset`.
    /// - **Ignored**: query parameters.
    ///
    /// # Errors
    ///
    /// [`PetNotFound`](crate::ErrorCode::PetNotFound), and the errors of [all operations](crate#errors).
    #[deprecated(
        note = "Deprecated from 1 December 2026: do not use it in new code; it may be removed after 2027-12-01"
    )]
    pub async fn get_pet(&self, pet_id: impl Into<PetId>) -> Result<Response<Pet>, Error> {
        send(GetPet::new(&self.generated, pet_id)).await
    }

    /// List orders.
    ///
    /// Returns all orders of the store, in ascending order of `id`.
    ///
    /// - **200**: all orders. A list that is requested after the 204 of a cancellation does not
    ///   contain the cancelled order.
    /// - **304**: no order has changed since the response with the `ETag` in `If-None-Match`.
    /// - **After a lost response**: send the request again. A repeated request changes nothing.
    /// - **Ignored**: query parameters. Filters and pagination are in version 2.
    pub async fn list_orders(&self) -> Result<Response<Vec<Order>>, Error> {
        send(ListOrders::new(&self.generated)).await
    }

    /// Like [`list_orders`](Self::list_orders), but if the list still has this `ETag`, the value is
    /// `None`, and the list is not transferred.
    pub async fn list_orders_if_changed(
        &self,
        etag: impl Into<String>,
    ) -> Result<Response<Option<Vec<Order>>>, Error> {
        let request = ListOrders::new(&self.generated).if_none_match(etag);
        send_and_map(request, unless_unchanged).await
    }

    /// Cancel an order.
    ///
    /// Cancels a pending order.
    ///
    /// - **204**: the order is cancelled. No list that is requested from now on contains it, and
    ///   its identifier is never used again.
    /// - **404**: there is no such order, or it is already cancelled. Of several requests for
    ///   the same order, at most one gets 204.
    /// - **409**: the order has already shipped. It is unchanged.
    /// - **After a lost response**, or a 500, 502, 503 or 504: the order may have been cancelled.
    ///   Send the request again, and take a 404 as success: an earlier attempt may have cancelled
    ///   the order.
    /// - **Ignored**: query parameters, a body, `If-Match` and `If-Unmodified-Since`.
    ///
    /// This method repeats the request itself, as the client's [`RetryPolicy`](crate::RetryPolicy)
    /// allows. If an earlier attempt may have cancelled the order, `order_not_found` is not an
    /// error, but the outcome [`AlreadyGone`](CancelOrderOutcome::AlreadyGone).
    ///
    /// # Errors
    ///
    /// [`OrderNotFound`](crate::ErrorCode::OrderNotFound),
    /// [`OrderAlreadyShipped`](crate::ErrorCode::OrderAlreadyShipped), and the errors of
    /// [all operations](crate#errors).
    pub async fn cancel_order(
        &self,
        order_id: impl Into<OrderId>,
    ) -> Result<Response<CancelOrderOutcome>, Error> {
        let request = CancelOrder::new(&self.generated, order_id);
        send_and_map(request, CancelOrderOutcome::from_result).await
    }
}
