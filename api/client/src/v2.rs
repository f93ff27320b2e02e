//! Version 2 of the API: pages of orders with filters, single orders, and cancellations.
//!
//! [`Client::v2`](crate::Client::v2) returns the client of this version. Each page of a list is a
//! separate call with its own retries, waits and span.

use crate::answer::{send, send_and_map, unless_unchanged};
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
    /// Cloning is cheap; clones share the connections and the rate limit.
    ClientV2,
    generated::Client,
    "/v2"
}

impl Client {
    /// Returns a client of version 2, for new programs. The returned client shares connections,
    /// options and limits with this client.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn example(key: String) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = store_orders_client::Client::new("https://orders.example.com", key)?.v2();
    /// # Ok(())
    /// # }
    /// ```
    pub fn v2(&self) -> ClientV2 {
        let (root, http, call) = self.parts();
        ClientV2::from_parts(root, http, call)
    }
}

impl ClientV2 {
    /// List orders.
    ///
    /// Returns a page of the orders that match all filters, in ascending order of `id`.
    ///
    /// - **200**: a page. For pagination, send its `nextCursor` as `cursor`, with the filters
    ///   unchanged, until a page has no `nextCursor`. A page that has a `nextCursor` may hold fewer
    ///   orders than `limit`, even none.
    /// - **304**: the page is unchanged since the response with the `ETag` in `If-None-Match`.
    /// - **400**: a query parameter is unknown, repeated, empty or malformed. The `message` names
    ///   it.
    /// - **All pages together**: no order appears twice. An order that matches during the whole
    ///   pagination appears exactly once.
    /// - **Cancelled orders** are in no page that is requested after the 204 of the cancellation.
    /// - **After a lost response**: send the request again. A repeated request changes nothing.
    ///
    /// This method only creates the request. Set filters on it, then call
    /// [`send`](ListOrders::send) for one page, or [`stream`](ListOrders::stream) for the orders of
    /// all pages.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// let page = client.list_orders().pet_id(7).limit(10).send().await?;
    /// for order in &page {
    ///     println!("order {}: {} units", order.id, order.quantity);
    /// }
    /// if let Some(cursor) = page.next_cursor.as_deref() {
    ///     let next = client.list_orders().pet_id(7).limit(10).cursor(cursor).send().await?;
    ///     println!("{} more", next.orders.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_orders(&self) -> ListOrders {
        ListOrders::new(&self.generated)
    }

    /// Look up an order.
    ///
    /// Returns an order as it is now, even if it is cancelled.
    ///
    /// - **200**: the order. If it is cancelled, `status` is `cancelled` and `cancelledAt` says
    ///   when.
    /// - **304**: the order is unchanged since the response with the `ETag` in `If-None-Match`.
    /// - **404**: there has never been an order with this identifier.
    /// - **After a lost response**: send the request again. A repeated request changes nothing.
    /// - **Ignored**: query parameters.
    ///
    /// # Errors
    ///
    /// [`OrderNotFound`](crate::ErrorCode::OrderNotFound), and the errors of
    /// [all operations](crate#errors).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// use store_orders_client::v2::OrderStatus;
    ///
    /// let order = client.get_order(1042).await?;
    /// if order.status == OrderStatus::Cancelled {
    ///     println!("order {} was cancelled at {:?}", order.id, order.cancelled_at);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_order(&self, order_id: impl Into<OrderId>) -> Result<Response<Order>, Error> {
        send(GetOrder::new(&self.generated, order_id)).await
    }

    /// Like [`get_order`](Self::get_order), but if the order still has this `ETag`, the value is
    /// `None`, and the order is not transferred.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// let known = client.get_order(1042).await?;
    /// // Later:
    /// if let Some(etag) = known.etag() {
    ///     match client.get_order_if_changed(1042, etag).await?.into_inner() {
    ///         Some(order) => println!("now {}", order.status),
    ///         None => println!("still {}", known.status),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_order_if_changed(
        &self,
        order_id: impl Into<OrderId>,
        etag: impl Into<String>,
    ) -> Result<Response<Option<Order>>, Error> {
        let request = GetOrder::new(&self.generated, order_id).if_none_match(etag);
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
    /// - **412**: the order has none of the tags in `If-Match`. This request did not change the
    ///   order.
    /// - **After a lost response**, or a 500, 502, 503 or 504: the order may have been cancelled.
    ///   Send the request again, and take a 404 as success: an earlier attempt may have cancelled
    ///   the order. `getOrder` says whether it is cancelled.
    /// - **Ignored**: query parameters, a body, and `If-Unmodified-Since`.
    ///
    /// To cancel an order only if it has not changed since you read it, call
    /// [`cancel_order_if_unchanged`](Self::cancel_order_if_unchanged).
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
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// use store_orders_client::{CancelOrderOutcome, ErrorCode};
    ///
    /// match client.cancel_order(1042).await {
    ///     Ok(outcome) => match outcome.into_inner() {
    ///         CancelOrderOutcome::Cancelled => println!("cancelled"),
    ///         CancelOrderOutcome::AlreadyGone => println!("gone, probably cancelled by this call"),
    ///     },
    ///     Err(error) if error.code() == Some(ErrorCode::OrderAlreadyShipped) => println!("too late"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cancel_order(
        &self,
        order_id: impl Into<OrderId>,
    ) -> Result<Response<CancelOrderOutcome>, Error> {
        let request = CancelOrder::new(&self.generated, order_id);
        send_and_map(request, CancelOrderOutcome::from_result).await
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
    /// [`PreconditionFailed`](crate::ErrorCode::PreconditionFailed) if the order is pending but has
    /// changed, or is pending and the `ETag` begins with `W/`. Also the errors of
    /// [`cancel_order`](Self::cancel_order).
    ///
    /// If an earlier attempt of this call cancelled the order, the call succeeds with
    /// [`AlreadyGone`](CancelOrderOutcome::AlreadyGone).
    pub async fn cancel_order_if_unchanged(
        &self,
        order_id: impl Into<OrderId>,
        etag: impl Into<String>,
    ) -> Result<Response<CancelOrderOutcome>, Error> {
        let request = CancelOrder::new(&self.generated, order_id).if_match(etag);
        send_and_map(request, CancelOrderOutcome::from_result).await
    }
}

impl ListOrders {
    /// Sends the request. The value of the returned [`Response`] is one page.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// use std::time::SystemTime;
    /// use store_orders_client::chrono::{DateTime, TimeDelta, Utc};
    ///
    /// let soon = DateTime::<Utc>::from(SystemTime::now()) + TimeDelta::days(2);
    /// let page = client.list_orders().complete(false).ship_date_before(soon).send().await?;
    /// println!("{} orders to ship soon, more: {}", page.orders.len(), page.next_cursor.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send(self) -> Result<Response<OrderPage>, Error> {
        let cursor = self.cursor.clone();
        send(self).await.map_err(|error| error.at_cursor(cursor))
    }

    /// Sends the request. If the page still has this `ETag`, the value is `None`, and the page is
    /// not transferred.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// let page = client.list_orders().pet_id(7).send().await?;
    /// // Later:
    /// if let Some(etag) = page.etag() {
    ///     match client.list_orders().pet_id(7).send_if_changed(etag).await?.into_inner() {
    ///         Some(page) => println!("now {} orders", page.orders.len()),
    ///         None => println!("the page has not changed"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn send_if_changed(
        self,
        etag: impl Into<String>,
    ) -> Result<Response<Option<OrderPage>>, Error> {
        let cursor = self.cursor.clone();
        let request = self.if_none_match(etag);
        send_and_map(request, unless_unchanged).await.map_err(|error| error.at_cursor(cursor))
    }

    /// Streams the orders of all pages, from the page of [`cursor`](Self::cursor) if it is set.
    /// Each page is requested when the orders of the previous page have been taken.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use store_orders_client::Error;
    /// # async fn example(client: store_orders_client::ClientV2) -> Result<(), Error> {
    /// let mut orders = client.list_orders().pet_id(7).stream();
    /// while let Some(order) = orders.next().await {
    ///     println!("order {}", order?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> Orders {
        Pages::new(self)
    }
}

impl IntoIterator for OrderPage {
    type Item = Order;
    type IntoIter = std::vec::IntoIter<Order>;

    fn into_iter(self) -> Self::IntoIter {
        self.orders.into_iter()
    }
}

impl<'a> IntoIterator for &'a OrderPage {
    type Item = &'a Order;
    type IntoIter = std::slice::Iter<'a, Order>;

    fn into_iter(self) -> Self::IntoIter {
        self.orders.iter()
    }
}

/// A stream of the orders of all pages, created by [`ListOrders::stream`].
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
