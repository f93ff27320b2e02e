//! With the feature `tracing`, records the result of a call in its span, and emits an event for
//! each retry.

use crate::attempt::Attempt;
use crate::error::Error;
use crate::request::Span;
use crate::response::Response;

#[cfg(feature = "tracing")]
pub(crate) async fn in_span<T>(
    span: Span,
    call: impl Future<Output = Result<Response<T>, Error>>,
) -> Result<Response<T>, Error> {
    use tracing::Instrument;

    let result = call.instrument(span.clone()).await;
    let (status, attempts, request_id) = match &result {
        Ok(response) => (Some(response.status()), response.attempts(), response.request_id()),
        Err(error) => {
            span.record("error", tracing::field::display(error));
            (error.status(), error.attempts(), error.request_id())
        }
    };
    span.record("status", status.map(|status| status.as_u16()));
    span.record("attempts", attempts);
    span.record("request_id", request_id);
    result
}

#[cfg(not(feature = "tracing"))]
pub(crate) async fn in_span<T>(
    _: Span,
    call: impl Future<Output = Result<Response<T>, Error>>,
) -> Result<Response<T>, Error> {
    call.await
}

#[cfg(feature = "tracing")]
pub(crate) fn trace_retry(attempt: &Attempt<'_>) {
    if attempt.wait.is_some() {
        // The event contains the status and request id of this attempt, because the span gets only
        // those of the last attempt.
        tracing::warn!(target: "store_orders_client", "{attempt}");
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn trace_retry(_attempt: &Attempt<'_>) {}
