//! Version 2 of the API: lists orders in pages, with filters and the status of each order, and
//! looks up single orders.
//!
//! [`Client::v2`](crate::Client::v2) returns its client. Each page of a list is a separate call
//! with its own retries, waits and span.

use crate::answer::{send, unless_unchanged};
use crate::error::Error;
use crate::generated::v1::types::OrderId;
use crate::generated::v2::{self as generated, CancelOrder, GetOrder};
use crate::outcome::CancelOrderOutcome;
use crate::pages::{PagedRequest, Pages};
use crate::response::Response;
use crate::v1::Client;
use crate::version::client_of_version;

pub use crate::generated::values::OrderStatus;
pub use generated::ListOrders;
pub use generated::types::{Order, OrderPage};

client_of_version! {
    /// A client of version 2 of the Store Orders API, from [`Client::v2`](crate::Client::v2).
    /// Cloning is cheap and shares the connections.
    ClientV2,
    generated::Client,
    "/v2"
}

impl Client {
    /// The client of version 2, for new programs. It shares connections, options and limits with
    /// this client.
    pub fn v2(&self) -> ClientV2 {
        let (root, http, call) = self.parts();
        ClientV2::from_parts(root, http, call)
    }
}

impl ClientV2 {
    /// List orders.
    ///
    /// Returns the orders that match all filters, in ascending order of `id`, in pages of `limit`
    /// orders. For the next page, send `nextCursor` as `cursor` with the filters unchanged, until a
    /// page has none. A page may hold fewer orders than `limit`, even none, and have a
    /// `nextCursor`, because the work for one page is bounded. A page that is requested after a
    /// cancellation was answered does not contain the order. Over all pages no order comes twice,
    /// and every order that matched from the first page to the last is in exactly one. A parameter
    /// that is unknown, repeated, empty or malformed is answered with 400.
    pub fn list_orders(&self) -> ListOrders {
        ListOrders::new(&self.generated)
    }

    /// Look up an order.
    ///
    /// Returns one order as it is at the time of the request: after a cancellation was answered,
    /// its `status` is `cancelled`. Cancelled orders are kept and have `cancelledAt`. An identifier
    /// that no order ever had is answered with 404.
    ///
    /// # Errors
    ///
    /// [`OrderNotFound`](crate::ErrorCode::OrderNotFound), and the errors of
    /// [all operations](crate#errors).
    pub async fn get_order(&self, order_id: impl Into<OrderId>) -> Result<Response<Order>, Error> {
        send(GetOrder::new(&self.generated, order_id)).await
    }

    /// Like [`get_order`](Self::get_order), but if the order still has this `ETag`, the value is
    /// `None`, and the order is not transferred.
    pub async fn get_order_if_changed(
        &self,
        order_id: impl Into<OrderId>,
        etag: impl Into<String>,
    ) -> Result<Response<Option<Order>>, Error> {
        let request = GetOrder::new(&self.generated, order_id).if_none_match(etag);
        unless_unchanged(send(request).await)
    }

    /// Cancel an order.
    ///
    /// Cancels a pending order: it is removed from the list at once, and its identifier is never
    /// used again. An order that has already shipped cannot be cancelled and is unchanged.
    /// Cancelling the same order a second time is answered with 404; of several concurrent requests
    /// exactly one is answered with 204. After a 500, 502, 503 or 504, or if no response arrives,
    /// the order may have been cancelled nevertheless: repeat the request. A 404 then means that
    /// the order is not there, possibly cancelled by an earlier attempt: take it as success, or
    /// read the order with `getOrder`. A repeated request cannot cancel another order, and one that
    /// has shipped is never cancelled. To cancel an order only if it has not changed since you read
    /// it, use [`cancel_order_if_unchanged`](Self::cancel_order_if_unchanged).
    ///
    /// The value says what became of the order: see [`CancelOrderOutcome`].
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
        CancelOrderOutcome::from_result(send(request).await)
    }

    /// Like [`cancel_order`](Self::cancel_order), but cancels the order only if it still has this
    /// `ETag` of [`get_order`](Self::get_order).
    ///
    /// ```no_run
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), store_orders_client::Error> {
    /// let order = client.get_order(1042).await?;
    /// if let Some(etag) = order.etag()
    ///     && order.quantity > 10
    /// {
    ///     client.cancel_order_if_unchanged(order.id, etag).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`PreconditionFailed`](crate::ErrorCode::PreconditionFailed) if the order has changed and is
    /// not cancelled, and the errors of [`cancel_order`](Self::cancel_order). A retry after a lost
    /// response never fails with this code if an earlier attempt cancelled the order: the outcome
    /// is then [`AlreadyGone`](CancelOrderOutcome::AlreadyGone).
    pub async fn cancel_order_if_unchanged(
        &self,
        order_id: impl Into<OrderId>,
        etag: impl Into<String>,
    ) -> Result<Response<CancelOrderOutcome>, Error> {
        let request = CancelOrder::new(&self.generated, order_id).if_match(etag);
        CancelOrderOutcome::from_result(send(request).await)
    }
}

impl ListOrders {
    /// Sends the request. The value is one page.
    pub async fn send(self) -> Result<Response<OrderPage>, Error> {
        let cursor = self.cursor.clone();
        send(self).await.map_err(|error| error.at_cursor(cursor))
    }

    /// Sends the request. If the page still has this `ETag`, the value is `None`, and the page is
    /// not transferred.
    pub async fn send_if_changed(
        self,
        etag: impl Into<String>,
    ) -> Result<Response<Option<OrderPage>>, Error> {
        unless_unchanged(self.if_none_match(etag).send().await)
    }

    /// Streams the orders of all pages, from the page of [`cursor`](Self::cursor) if it is set.
    /// Each page is requested when the orders of the previous page have been taken.
    pub fn stream(self) -> Orders {
        Pages::new(self)
    }
}

/// The orders of all pages of [`list_orders`](ClientV2::list_orders).
pub type Orders = Pages<ListOrders>;

impl PagedRequest for ListOrders {
    type Page = OrderPage;
    type Item = Order;

    fn at_cursor(self, cursor: String) -> Self {
        self.cursor(cursor)
    }

    async fn page(self) -> Result<Response<Self::Page>, Error> {
        self.send().await
    }

    fn parts(page: Self::Page) -> (Vec<Self::Item>, Option<String>) {
        (page.orders, page.next_cursor)
    }
}
