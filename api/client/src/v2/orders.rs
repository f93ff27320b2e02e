//! The orders of all pages, one after the other.

use super::generated::types::{Order, OrderPage};
use super::operations::ListOrders;
use crate::error::Error;
use crate::response::Response;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The orders of all pages, in ascending order of `id`. From
/// [`ListOrders::stream`].
///
/// It ends on the first error: [`Error::cursor`] is the cursor of the page that failed, retries
/// included. The orders of the pages before have all been returned, so a request with this cursor
/// and the same filters goes on where it stopped.
///
/// ```
/// # #[cfg(feature = "testing")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use store_orders_client::v2::Client;
/// # use store_orders_client::{ErrorCode, Order, testing};
/// # let server = testing::Server::start((1..=9).map(|id| Order::new(id, 7, 1)))?;
/// # let client = Client::new(server.v2_base_url(), testing::KEY)?;
/// let request = client.list_orders().pet_id(7).limit(3);
/// let (mut orders, mut ids, mut stopped_at) = (request.clone().stream(), Vec::new(), None);
/// while let Some(order) = orders.next().await {
///     match order {
///         Ok(order) => ids.push(order.id),
///         Err(error) => stopped_at = error.cursor().map(str::to_string),
///     }
/// #   if ids.len() == 3 && stopped_at.is_none() { server.fail_next(ErrorCode::Unauthorized); }
/// }
/// // Later:
/// if let Some(cursor) = stopped_at {
///     let mut rest = request.cursor(cursor).stream();
///     while let Some(order) = rest.next().await {
///         ids.push(order?.id);
///     }
/// }
/// # assert_eq!(ids.len(), 9);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "testing"))]
/// # fn main() {}
/// ```
#[must_use = "nothing is sent before the first order is asked for"]
pub struct Orders {
    /// The rest of the page that came last.
    page: std::vec::IntoIter<Order>,
    /// The call for the next page, and the request for the one after it, but for its cursor;
    /// `None` at the end.
    next: Option<(Call, ListOrders)>,
}

impl ListOrders {
    /// The orders of all pages, from the one of [`cursor`](Self::cursor) if it is set, each page
    /// requested when the orders before it have been taken.
    pub fn stream(self) -> Orders {
        Orders { page: Vec::new().into_iter(), next: Some((call(&self), self)) }
    }
}

type Call = Pin<Box<dyn Future<Output = Result<Response<OrderPage>, Error>> + Send>>;

impl Orders {
    /// The next order; `None` after the last one, and after an error.
    ///
    /// It can be cancelled: no order is lost if its future is dropped.
    pub async fn next(&mut self) -> Option<Result<Order, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

fn call(request: &ListOrders) -> Call {
    Box::pin(request.clone().send())
}

impl Stream for Orders {
    type Item = Result<Order, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(order) = self.page.next() {
                return Poll::Ready(Some(Ok(order)));
            }
            let Some((next, _)) = &mut self.next else { return Poll::Ready(None) };
            let page = ready!(next.as_mut().poll(context));
            let request = self.next.take().map(|(_, request)| request);
            match page.map(Response::into_inner) {
                Ok(page) => {
                    self.page = page.orders.into_iter();
                    self.next = request.zip(page.next_cursor).map(|(request, cursor)| {
                        let request = request.cursor(cursor);
                        (call(&request), request)
                    });
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

/// Without the orders of the page.
impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.next.as_ref().map(|(_, request)| request);
        f.debug_struct("Orders").field("next", &request).finish_non_exhaustive()
    }
}
