//! The operations, each in a few lines: unpack, call, wrap. Every request here has
//! passed the middleware.

use super::accept_encoding::accepts_gzip;
use crate::blocking::run_with;
use crate::context::ServerContext;
use crate::log::ErrorChain;
use crate::orders::{CancelError, ListError};
use crate::store::CancelOutcome;
use chrono::DateTime;
use dropshot::RequestContext;
use slog::error;
use std::sync::Arc;
use store_orders_api::StoreOrdersApi;
use store_orders_api::answer::{Answer, Cancelled, Found, Listed};
use store_orders_api::caller::Caller;
use store_orders_api::errors::{
    CancelOrderError, Error, GetPetError, ListOrdersError, OperationError, internal_error,
};
use store_orders_api::types::{OrderPath, PathOf, PetPath};

/// Implements the contract.
pub enum Handlers {}

impl StoreOrdersApi for Handlers {
    type Context = Arc<ServerContext>;

    async fn list_orders(
        context: RequestContext<Arc<ServerContext>>,
        caller: Caller,
    ) -> Result<Answer<Listed, ListOrdersError>, Error> {
        let Some(key) = caller.0 else { return Err(failed(&context, &NotAuthenticated)) };
        let server = context.context();
        let list = match server.orders.list().await {
            Ok(list) => list,
            Err(error @ (ListError::Store(_) | ListError::Unchecked(_))) => {
                return unavailable(&context, &error, ListOrdersError::Unavailable);
            }
            Err(error @ ListError::CutShort) => return Err(failed(&context, &error)),
        };
        let gzip = accepts_gzip(context.request.headers());
        Ok(Answer::Success(Listed(server.orders.respond(list, key.account, gzip))))
    }

    async fn cancel_order(
        context: RequestContext<Arc<ServerContext>>,
        path: PathOf<OrderPath>,
        caller: Caller,
    ) -> Result<Answer<Cancelled, CancelOrderError>, Error> {
        let Ok(path) = path.0 else { return Ok(Answer::Error(CancelOrderError::InvalidId)) };
        let Some(key) = caller.0 else { return Err(failed(&context, &NotAuthenticated)) };
        let server = context.context();
        let order_id = path.order_id.0;
        let at = DateTime::from_timestamp_millis(server.clock.now().wall_ms()).unwrap_or_default();
        let error = match server.orders.cancel(order_id, key.id, at, key.deadline).await {
            Ok(CancelOutcome::Cancelled) => return Ok(Answer::Success(Cancelled)),
            Ok(CancelOutcome::NotFound) => CancelOrderError::NotFound(order_id),
            Ok(CancelOutcome::AlreadyShipped) => CancelOrderError::AlreadyShipped(order_id),
            Ok(CancelOutcome::Expired) => CancelOrderError::Unavailable,
            Err(error @ CancelError::NoAnswer) => return Err(failed(&context, &error)),
            Err(error) => return unavailable(&context, &error, CancelOrderError::Unavailable),
        };
        Ok(Answer::Error(error))
    }

    async fn get_pet(
        context: RequestContext<Arc<ServerContext>>,
        path: PathOf<PetPath>,
    ) -> Result<Answer<Found, GetPetError>, Error> {
        let Ok(path) = path.0 else { return Ok(Answer::Error(GetPetError::InvalidId)) };
        let id = path.pet_id.0;
        let server = context.context();
        // It waits until the request's deadline at most, and is never closed.
        let permit = Arc::clone(&server.pet_look_ups).acquire_owned().await;
        let store = Arc::clone(&server.store);
        match run_with(permit, move || store.pet(id)).await {
            Ok(Ok(Some(pet))) => Ok(Answer::Success(Found(pet))),
            Ok(Ok(None)) => Ok(Answer::Error(GetPetError::NotFound(id))),
            Ok(Err(error)) => unavailable(&context, &error, GetPetError::Unavailable),
            Err(error) => Err(failed(&context, &error)),
        }
    }
}

/// A handler was called without the middleware.
#[derive(Debug, thiserror::Error)]
#[error("the request was not authenticated")]
struct NotAuthenticated;

/// 503: the cause goes to the log, the client learns when to retry.
fn unavailable<T, E: OperationError>(
    context: &RequestContext<Arc<ServerContext>>,
    cause: &dyn std::error::Error,
    error: E,
) -> Result<Answer<T, E>, Error> {
    error!(context.context().log, "the store cannot be reached";
        "request_id" => &context.request_id, "error" => %ErrorChain(cause));
    Ok(Answer::Error(error))
}

/// 500: the cause goes to the log, not to the client.
fn failed(context: &RequestContext<Arc<ServerContext>>, cause: &dyn std::error::Error) -> Error {
    error!(context.context().log, "an operation failed";
        "request_id" => &context.request_id, "error" => %ErrorChain(cause));
    internal_error()
}
