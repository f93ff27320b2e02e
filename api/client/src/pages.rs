//! Streams the records of a list that the API returns in pages.

use crate::error::Error;
use crate::response::Response;
use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A request for a page. The trait is public because [`Pages`] names it. The crate does not export
/// the trait.
pub trait PagedRequest: Clone + fmt::Debug + Send + Unpin + 'static {
    type Page: Send;
    type Item: Unpin;

    /// Returns the same request for the page at this cursor.
    fn at_cursor(self, cursor: String) -> Self;
    fn page(self) -> impl Future<Output = Result<Response<Self::Page>, Error>> + Send;
    /// Returns the page's records, and the next page's cursor, or `None` on the last page.
    fn parts(page: Self::Page) -> (Vec<Self::Item>, Option<String>);
}

/// A stream of the records of all pages. The next page is requested when all records of the current
/// page have been taken.
///
/// An error that retries do not resolve ends the stream. To continue at the failed page, send the
/// same request with [`Error::cursor`].
#[must_use = "nothing is sent before the first record is requested"]
pub struct Pages<R: PagedRequest> {
    page: std::vec::IntoIter<R::Item>,
    /// The request for the next page, and the call in flight. `None` once nothing more will be
    /// requested.
    next: Option<(R, Option<Call<R>>)>,
}

type Call<R> =
    Pin<Box<dyn Future<Output = Result<Response<<R as PagedRequest>::Page>, Error>> + Send>>;

impl<R: PagedRequest> Pages<R> {
    pub(crate) fn new(request: R) -> Self {
        Self { page: Vec::new().into_iter(), next: Some((request, None)) }
    }

    /// Returns the next record; `None` after the last one and after an error.
    ///
    /// Dropping the returned future loses no record, but aborts the request in flight. The next
    /// call sends the request again. If the program always drops the future too early, no request
    /// ever completes. In this case call `StreamExt::next(&mut pages)`, which keeps the request.
    pub async fn next(&mut self) -> Option<Result<R::Item, Error>> {
        let record = Record(self);
        std::future::poll_fn(|context| Pin::new(&mut *record.0).poll_next(context)).await
    }
}

/// A pending [`Pages::next`]. When dropped, aborts the request in flight, which would otherwise
/// keep its permit of `max_in_flight`.
struct Record<'a, R: PagedRequest>(&'a mut Pages<R>);

impl<R: PagedRequest> Drop for Record<'_, R> {
    fn drop(&mut self) {
        if let Some((_, call)) = &mut self.0.next {
            *call = None;
        }
    }
}

impl<R: PagedRequest> Stream for Pages<R> {
    type Item = Result<R::Item, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.page.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            let Some((request, call)) = &mut self.next else { return Poll::Ready(None) };
            let call = call.get_or_insert_with(|| Box::pin(request.clone().page()));
            let page = ready!(call.as_mut().poll(context));
            let request = self.next.take().map(|(request, _)| request);
            match page.map(Response::into_inner) {
                Ok(page) => {
                    let (records, cursor) = R::parts(page);
                    self.page = records.into_iter();
                    let next = request.zip(cursor);
                    self.next = next.map(|(request, cursor)| (request.at_cursor(cursor), None));
                }
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<R: PagedRequest> fmt::Debug for Pages<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = self.next.as_ref().map(|(request, _)| request);
        f.debug_struct("Pages").field("next", &request).finish_non_exhaustive()
    }
}
