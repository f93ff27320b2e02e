//! The outcome of a cancellation. Both versions of the client use this type.

use crate::error::Error;
use crate::generated::values::ErrorCode;
use crate::response::Response;

/// The outcome of a successful call of `cancel_order` or `cancel_order_if_unchanged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CancelOrderOutcome {
    /// This call cancelled the order.
    Cancelled,
    /// The last attempt got a 404 `order_not_found`. An earlier attempt, which got no response or a
    /// 5xx, may have cancelled the order.
    ///
    /// [`ClientV2::get_order`](crate::ClientV2::get_order) returns whether and when the order was
    /// cancelled.
    AlreadyGone,
}

impl CancelOrderOutcome {
    /// Converts the result of the last attempt to the result of the call. If an earlier attempt may
    /// have cancelled the order, `order_not_found` is a success.
    pub(crate) fn from_result(
        result: Result<Response<()>, Error>,
    ) -> Result<Response<Self>, Error> {
        match result {
            Ok(response) => Ok(response.map(|()| Self::Cancelled)),
            Err(error) if error.follows_success(&[ErrorCode::OrderNotFound]) => {
                error.into_response(Self::AlreadyGone)
            }
            Err(error) => Err(error),
        }
    }
}
