//! Version 2 of the API: lists orders in pages, with filters and the status of each order, and
//! looks up single orders.
//!
//! [`Client::v2`](crate::Client::v2) returns its client. Each page of a list is a separate call
//! with its own retries, waits and span.

use crate::answer::{convert, or_empty, with_outcome};
use crate::error::Error;
use crate::generated::v2 as generated;
use crate::pages::{PagedRequest, Pages};
use crate::response::Response;
use crate::span::{call_span, in_span};
use crate::values::ErrorCode;
use crate::version::client_of_version;
use crate::{OrderId, PetId};
use chrono::{DateTime, Utc};

use crate::v1::CancelOrderOutcome;
pub use crate::values::OrderStatus;
pub use generated::types::{Order, OrderPage};

client_of_version! {
    /// A client of version 2 of the Store Orders API, from [`Client::v2`](crate::Client::v2).
    /// Cloning is cheap and shares the connections.
    ClientV2,
    generated::Client,
    "/v2"
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
        ListOrders {
            client: self.clone(),
            complete: None,
            cursor: None,
            limit: None,
            pet_id: None,
            ship_date_before: None,
            ship_date_from: None,
            status: None,
        }
    }

    /// Look up an order.
    ///
    /// Returns one order as it is at the time of the request: after a cancellation was answered,
    /// its `status` is `cancelled`. Cancelled orders are kept and have `cancelledAt`. An identifier
    /// that no order ever had is answered with 404.
    ///
    /// # Errors
    ///
    /// [`OrderNotFound`](ErrorCode::OrderNotFound), and the errors of
    /// [all operations](crate#errors).
    pub async fn get_order(&self, order_id: impl Into<OrderId>) -> Result<Response<Order>, Error> {
        self.get_order_with(order_id.into(), None).await
    }

    /// Like [`get_order`](Self::get_order), but if the order still has this `ETag`, the value is
    /// `None`, and the order is not transferred.
    pub async fn get_order_if_changed(
        &self,
        order_id: impl Into<OrderId>,
        etag: impl Into<String>,
    ) -> Result<Response<Option<Order>>, Error> {
        or_empty(self.get_order_with(order_id.into(), Some(etag.into())).await, &[304])
    }

    async fn get_order_with(
        &self,
        order_id: OrderId,
        if_none_match: Option<String>,
    ) -> Result<Response<Order>, Error> {
        let client = self.for_one_call();
        let call = async {
            let answer = client.get_order(&order_id, if_none_match.as_deref()).await;
            convert(answer, &client.inner).await
        };
        in_span(call_span!("get_order", order_id = i64::from(order_id)), call).await
    }

    /// Cancel an order.
    ///
    /// Cancels a pending order: it is removed from the list at once, and its identifier is never
    /// used again. An order that has already shipped cannot be cancelled and is unchanged.
    /// Cancelling the same order a second time is answered with 404; of several concurrent requests
    /// exactly one is answered with 204. After a 500, 502, 503 or 504, or if no response arrives,
    /// the order may have been cancelled nevertheless: repeat the request. A 404 then means that
    /// the order is not there, possibly cancelled by an earlier attempt: take it as success, or
    /// read the order with `getOrder`. `If-Match` and `If-Unmodified-Since` are ignored: the order
    /// is cancelled whatever they say. A repeated request cannot cancel another order, and one that
    /// has shipped is never cancelled; to check more than that, read the order first.
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

/// A request of [`list_orders`](ClientV2::list_orders). Only parameters that are set are sent.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before `send` or `stream`"]
pub struct ListOrders {
    client: ClientV2,
    complete: Option<bool>,
    cursor: Option<String>,
    limit: Option<i64>,
    pet_id: Option<PetId>,
    ship_date_before: Option<DateTime<Utc>>,
    ship_date_from: Option<DateTime<Utc>>,
    status: Option<OrderStatus>,
}

impl ListOrders {
    /// Only orders that have been fulfilled (`true`), or have not (`false`).
    pub fn complete(mut self, complete: bool) -> Self {
        self.complete = Some(complete);
        self
    }

    /// `nextCursor` of the previous page, unchanged and with the filters of that page; `limit` may
    /// differ. Without it, the first page is returned.
    pub fn cursor(mut self, cursor: impl Into<String>) -> Self {
        self.cursor = Some(cursor.into());
        self
    }

    /// Maximum number of orders in the page; 100 unless sent.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit.into());
        self
    }

    /// Only orders of this pet: a 64-bit integer in plain decimal, without a plus sign, leading
    /// zeros, a fraction or an exponent.
    pub fn pet_id(mut self, pet_id: impl Into<PetId>) -> Self {
        self.pet_id = Some(pet_id.into());
        self
    }

    /// Only orders with a `shipDate` before this time (RFC 3339, with any offset; a `+` in it is
    /// sent as `%2B`). An order without `shipDate` does not match.
    pub fn ship_date_before(mut self, ship_date_before: impl Into<DateTime<Utc>>) -> Self {
        self.ship_date_before = Some(ship_date_before.into());
        self
    }

    /// Only orders with a `shipDate` at this time or later (RFC 3339, with any offset; a `+` in it
    /// is sent as `%2B`). An order without `shipDate` does not match.
    pub fn ship_date_from(mut self, ship_date_from: impl Into<DateTime<Utc>>) -> Self {
        self.ship_date_from = Some(ship_date_from.into());
        self
    }

    /// Only orders of this status.
    pub fn status(mut self, status: impl Into<OrderStatus>) -> Self {
        self.status = Some(status.into());
        self
    }
}

impl ListOrders {
    /// Sends the request. The value is one page.
    pub async fn send(self) -> Result<Response<OrderPage>, Error> {
        self.send_with(None).await
    }

    /// Sends the request. If the page still has this `ETag`, the value is `None`, and the page is
    /// not transferred.
    pub async fn send_if_changed(
        self,
        etag: impl Into<String>,
    ) -> Result<Response<Option<OrderPage>>, Error> {
        or_empty(self.send_with(Some(etag.into())).await, &[304])
    }

    /// Streams the orders of all pages, from the page of [`cursor`](Self::cursor) if it is set.
    /// Each page is requested when the orders of the previous page have been taken.
    pub fn stream(self) -> Orders {
        Pages::new(self)
    }

    async fn send_with(self, if_none_match: Option<String>) -> Result<Response<OrderPage>, Error> {
        let client = self.client.for_one_call();
        let call = async {
            let answer = client
                .list_orders(
                    self.complete,
                    self.cursor.as_deref(),
                    self.limit,
                    self.pet_id.as_ref(),
                    self.ship_date_before.as_ref(),
                    self.ship_date_from.as_ref(),
                    self.status.as_ref(),
                    if_none_match.as_deref(),
                )
                .await;
            convert(answer, &client.inner).await.map_err(|error| error.at_cursor(self.cursor))
        };
        in_span(call_span!("list_orders", pet_id = self.pet_id.map(i64::from)), call).await
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
