//! One `tracing` span a call, and an event for each retry: the feature `tracing`.

use crate::attempt::Attempt;
use crate::error::Error;
use crate::response::Response;

/// The span of a call of an operation with these identifiers.
#[cfg(feature = "tracing")]
macro_rules! call_span {
    ($operation:literal $(, $identifier:ident = $value:expr)*) => {
        tracing::info_span!(
            target: "store_orders_client",
            "store_orders",
            operation = $operation,
            $($identifier = $value,)*
            status = tracing::field::Empty,
            attempts = tracing::field::Empty,
            request_id = tracing::field::Empty,
            error = tracing::field::Empty,
        )
    };
}

/// No span.
#[cfg(not(feature = "tracing"))]
macro_rules! call_span {
    ($operation:literal $(, $identifier:ident = $value:expr)*) => {{
        $(let _ = $value;)*
        crate::span::NoSpan
    }};
}

pub(crate) use call_span;

#[cfg(not(feature = "tracing"))]
pub(crate) struct NoSpan;

/// Makes a call within its span, which then tells its result.
#[cfg(feature = "tracing")]
pub(crate) async fn in_span<T>(
    span: tracing::Span,
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
    _: NoSpan,
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
