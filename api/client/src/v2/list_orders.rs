//! The request for a list of orders: its filters, and which page.

use super::generated::order_status::OrderStatus;
use super::generated::types::OrderPage;
use super::orders::Orders;
use crate::error::Error;
use crate::generated::types::PetId;
use crate::response::Response;
use chrono::{DateTime, Utc};

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
pub struct ListOrders<C = super::Client> {
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

    /// The orders of all pages, from the one of [`cursor`](Self::cursor) if it is set, each page
    /// requested when the orders before it have been taken.
    pub fn stream(self) -> Orders {
        Orders::new(self)
    }
}
