//! The operations, each in a few lines: unpack, call, wrap. A request that comes
//! here has passed the front door.

use crate::front_door;
use crate::orders::{CancelError, ListError, list_response};
use crate::server::App;
use crate::store::{CancelOutcome, Cancellation, StoreError};
use chrono::DateTime;
use dropshot::RequestContext;
use slog::error;
use std::sync::Arc;
use store_orders_api::StoreOrdersApi;
use store_orders_api::answer::{Answer, Cancelled, Found, Listed};
use store_orders_api::errors::{
    CancelOrderError, Error, GetPetError, ListOrdersError, OperationError, internal_error,
};
use store_orders_api::types::{OrderPath, PathOf, PetPath};

/// Implements the contract.
pub enum Handlers {}

impl StoreOrdersApi for Handlers {
    type Context = Arc<App>;

    async fn list_orders(
        context: RequestContext<Arc<App>>,
    ) -> Result<Answer<Listed, ListOrdersError>, Error> {
        let app = context.context();
        let list = match app.book.list().await {
            Ok(list) => list,
            Err(error @ ListError::Store(_)) => {
                return unavailable(&context, &error, ListOrdersError::Unavailable);
            }
            Err(error @ ListError::CutShort) => return Err(failed(&context, &error)),
        };
        let response = list_response(list, context.request.headers(), &app.arrivals);
        Ok(Answer::Success(Listed(response)))
    }

    async fn cancel_order(
        context: RequestContext<Arc<App>>,
        path: PathOf<OrderPath>,
    ) -> Result<Answer<Cancelled, CancelOrderError>, Error> {
        let Ok(path) = path.0 else { return Ok(Answer::Error(CancelOrderError::InvalidId)) };
        let app = context.context();
        let order_id = path.order_id.0;
        let at = DateTime::from_timestamp_millis(app.clock.now().wall_ms()).unwrap_or_default();
        let key_id = front_door::caller();
        let cancelled = app.book.cancel(Cancellation { order_id, key_id, at }).await;
        let error = match cancelled {
            Ok(CancelOutcome::Cancelled) => return Ok(Answer::Success(Cancelled)),
            Ok(CancelOutcome::NotFound) => CancelOrderError::NotFound(order_id),
            Ok(CancelOutcome::AlreadyShipped) => CancelOrderError::AlreadyShipped(order_id),
            Err(error @ CancelError::Store(_)) => {
                return unavailable(&context, &error, CancelOrderError::Unavailable);
            }
            Err(error @ CancelError::NoAnswer) => return Err(failed(&context, &error)),
        };
        Ok(Answer::Error(error))
    }

    async fn get_pet(
        context: RequestContext<Arc<App>>,
        path: PathOf<PetPath>,
    ) -> Result<Answer<Found, GetPetError>, Error> {
        let Ok(path) = path.0 else { return Ok(Answer::Error(GetPetError::InvalidId)) };
        let id = path.pet_id.0;
        let store = Arc::clone(&context.context().store);
        match tokio::task::spawn_blocking(move || store.pet(id)).await {
            Ok(Ok(Some(pet))) => Ok(Answer::Success(Found(pet))),
            Ok(Ok(None)) => Ok(Answer::Error(GetPetError::NotFound(id))),
            Ok(Err(error)) => {
                unavailable::<_, _, StoreError>(&context, &error, GetPetError::Unavailable)
            }
            Err(error) => Err(failed(&context, &error)),
        }
    }
}

/// 503: the log says why, the caller learns when to come back.
fn unavailable<T, E: OperationError, C: std::error::Error>(
    context: &RequestContext<Arc<App>>,
    cause: &C,
    error: E,
) -> Result<Answer<T, E>, Error> {
    error!(context.context().log, "the store cannot be reached";
        "req_id" => &context.request_id, "error" => crate::log::chain(cause));
    Ok(Answer::Error(error))
}

/// 500: the log says why, the caller does not learn it.
fn failed(context: &RequestContext<Arc<App>>, cause: &dyn std::error::Error) -> Error {
    error!(context.context().log, "an operation failed";
        "req_id" => &context.request_id, "error" => crate::log::chain(cause));
    internal_error()
}
