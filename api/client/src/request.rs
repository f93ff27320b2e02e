//! Requests that have not been sent yet. Each operation has a generated type that contains the
//! parameters and sends the request.

use crate::call::Call;
use progenitor_client::ResponseValue;

/// The result of progenitor's client. The error type is `()`, because the module `answer` parses
/// the bodies of errors.
pub(crate) type Answer<T> = Result<ResponseValue<T>, progenitor_client::Error<()>>;

pub(crate) trait Request {
    /// The body of a successful response.
    type Value;

    /// Returns the request's [`Call`]. A new request has a copy of the client's [`Call`]. Before
    /// sending, the module `answer` replaces the copy, because each request needs its own permit
    /// and record of attempts.
    fn call(&mut self) -> &mut Call;

    /// Creates the tracing span of the call. The span's fields include the operation and the
    /// identifiers among the request's parameters.
    fn span(&self) -> Span;

    /// Sends the request through the function that progenitor generated for the operation.
    fn execute(self) -> impl Future<Output = Answer<Self::Value>> + Send;
}

#[cfg(feature = "tracing")]
pub(crate) type Span = tracing::Span;

/// The placeholder for a call's span if the feature `tracing` is off.
#[cfg(not(feature = "tracing"))]
pub(crate) struct Span;

/// Creates the span of a call, with the operation's identifiers as fields. `in_span` fills in the
/// empty fields when the call ends.
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

/// Creates a placeholder instead of a span, because the feature `tracing` is off.
#[cfg(not(feature = "tracing"))]
macro_rules! call_span {
    ($operation:literal $(, $identifier:ident = $value:expr)*) => {{
        $(let _ = $value;)*
        crate::request::Span
    }};
}

pub(crate) use call_span;
