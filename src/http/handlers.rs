//! The operations, each in a few lines: unpack, call, wrap. Every request here has
//! passed the middleware.

use super::accept::accepts_gzip;
use super::order_page::{first_id, page_response};
use crate::blocking::run_with;
use crate::context::ServerContext;
use crate::log::ErrorChain;
use crate::orders::{CancelError, ListError, Snapshot};
use crate::store::CancelOutcome;
use chrono::DateTime;
use dropshot::RequestContext;
use slog::error;
use std::sync::Arc;
use store_orders_api::StoreOrdersApi;
use store_orders_api::answer::Answer;
use store_orders_api::caller::Caller;
use store_orders_api::errors::{Error, internal_error};
use store_orders_api::operations::{
    CancelOrderError, Cancelled, Found, GetPetError, ListOrderPageError, ListOrdersError, Listed,
    ListedPage, OperationError,
};
use store_orders_api::order_query::OrderQueryOf;
use store_orders_api::types::{OrderPath, PathOf, PetPath};

/// Implements the contract.
pub enum Handlers {}

impl StoreOrdersApi for Handlers {
    type Context = Arc<ServerContext>;

    async fn list_orders(
        context: RequestContext<Arc<ServerContext>>,
        caller: Caller,
    ) -> Result<Answer<Listed, ListOrdersError>, Error> {
        let Some(key) = caller.key else { return Err(failed(&context, &NotAuthenticated)) };
        let Some(list) = current_list(&context).await? else {
            return Ok(Answer::Error(ListOrdersError::Unavailable));
        };
        let gzip = accepts_gzip(context.request.headers());
        let orders = &context.context().orders;
        Ok(Answer::Success(Listed(orders.respond(list, key.account, gzip))))
    }

    async fn list_order_page(
        context: RequestContext<Arc<ServerContext>>,
        query: OrderQueryOf,
        caller: Caller,
    ) -> Result<Answer<ListedPage, ListOrderPageError>, Error> {
        let query = query.0.and_then(|query| Ok((first_id(&query)?, query)));
        let (from, query) = match query {
            Ok(query) => query,
            Err(invalid) => return Ok(Answer::Error(ListOrderPageError::Invalid(invalid))),
        };
        if caller.key.is_none() {
            return Err(failed(&context, &NotAuthenticated));
        }
        let Some(list) = current_list(&context).await? else {
            return Ok(Answer::Error(ListOrderPageError::Unavailable));
        };
        Ok(Answer::Success(ListedPage(page_response(&list, &query, from).await)))
    }

    async fn cancel_order(
        context: RequestContext<Arc<ServerContext>>,
        path: PathOf<OrderPath>,
        caller: Caller,
    ) -> Result<Answer<Cancelled, CancelOrderError>, Error> {
        let Ok(path) = path.0 else { return Ok(Answer::Error(CancelOrderError::InvalidId)) };
        let Some(key) = caller.key else { return Err(failed(&context, &NotAuthenticated)) };
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

/// The list as it stands now; `None` if it cannot be read.
async fn current_list(
    context: &RequestContext<Arc<ServerContext>>,
) -> Result<Option<Arc<Snapshot>>, Error> {
    match context.context().orders.list().await {
        Ok(list) => Ok(Some(list)),
        Err(error @ (ListError::Store(_) | ListError::Unchecked(_))) => {
            log_unavailable(context, &error);
            Ok(None)
        }
        Err(error @ ListError::CutShort) => Err(failed(context, &error)),
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
    log_unavailable(context, cause);
    Ok(Answer::Error(error))
}

fn log_unavailable(context: &RequestContext<Arc<ServerContext>>, cause: &dyn std::error::Error) {
    error!(context.context().log, "the store cannot be reached";
        "request_id" => &context.request_id, "error" => %ErrorChain(cause));
}

/// 500: the cause goes to the log, not to the client.
fn failed(context: &RequestContext<Arc<ServerContext>>, cause: &dyn std::error::Error) -> Error {
    error!(context.context().log, "an operation failed";
        "request_id" => &context.request_id, "error" => %ErrorChain(cause));
    internal_error()
}
