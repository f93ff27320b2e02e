//! One `tracing` span a call, and an event for each retry: the feature `tracing`.

use crate::attempt::Attempt;
use crate::error::Error;
use crate::generated::types::{OrderId, PetId};
use crate::response::Response;

/// Makes a call within its span, which then tells its result.
#[cfg(feature = "tracing")]
pub(crate) async fn in_span<T>(
    operation: &'static str,
    order_id: Option<OrderId>,
    pet_id: Option<PetId>,
    call: impl Future<Output = Result<Response<T>, Error>>,
) -> Result<Response<T>, Error> {
    use tracing::Instrument;
    use tracing::field::{Empty, display};

    let span = tracing::info_span!(
        target: "store_orders_client",
        "store_orders",
        operation,
        order_id = order_id.map(i64::from),
        pet_id = pet_id.map(i64::from),
        status = Empty,
        attempts = Empty,
        request_id = Empty,
        error = Empty,
    );
    let result = call.instrument(span.clone()).await;
    let (status, attempts, request_id) = match &result {
        Ok(response) => (Some(response.status()), response.attempts(), response.request_id()),
        Err(error) => {
            span.record("error", display(error));
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
    _operation: &'static str,
    _order_id: Option<OrderId>,
    _pet_id: Option<PetId>,
    call: impl Future<Output = Result<Response<T>, Error>>,
) -> Result<Response<T>, Error> {
    call.await
}

/// Tells of an attempt that is followed by another: an event in the span of its call.
#[cfg(feature = "tracing")]
pub(crate) fn tell_of_retry(attempt: &Attempt<'_>) {
    if attempt.wait.is_some() {
        // Its line has what the span does not know yet: status, request id and wait.
        tracing::warn!(target: "store_orders_client", "{attempt}");
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn tell_of_retry(_attempt: &Attempt<'_>) {}
