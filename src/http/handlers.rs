//! The handlers: they unpack a request, call the orders or the store, and wrap the outcome.

use super::accept::accepts_gzip;
use super::caller::Caller;
use super::order_page::{first_id, page_response};
use super::responses::json_body;
use crate::blocking::run_with;
use crate::context::ServerContext;
use crate::log::ErrorChain;
use crate::orders::{CancelError, ListError, Snapshot, find_order};
use crate::store::{CancelOutcome, CancelledOrder, Store, StoreError};
use chrono::DateTime;
use http::{HeaderMap, StatusCode};
use slog::error;
use std::error::Error;
use std::sync::Arc;
use store_orders_api::answer::Json;
use store_orders_api::documents::{V1, V2};
use store_orders_api::errors::message;
use store_orders_api::headers::link_error;
use store_orders_api::{v1, v2};

/// Implements the contract.
pub enum Handlers {}

/// The operations that read the list, in any version: its check begins before they are called.
pub const READ_THE_LIST: [&str; 2] = ["listOrders", "getOrder"];

type Context = Arc<ServerContext>;
type Request<'a> = store_orders_api::answer::Request<'a, Context, Caller>;

impl v1::Api for Handlers {
    type Context = Context;
    type Caller = Caller;

    fn error_headers(status: StatusCode, code: &str, headers: &mut HeaderMap) {
        link_error(status, code, &V1, headers);
    }

    async fn list_orders(
        request: Request<'_>,
    ) -> Result<v1::ListOrdersSuccess, v1::ListOrdersError> {
        let list = current_list(&request).await.map_err(v1::ServerError::from)?;
        let gzip = accepts_gzip(request.headers);
        let list = request.context.orders.respond(list, request.caller.account, gzip);
        Ok(v1::ListOrdersSuccess::Ok(Json::encoded(list)))
    }

    async fn cancel_order(
        request: Request<'_>,
        path: v1::CancelOrderPath,
    ) -> Result<v1::CancelOrderSuccess, v1::CancelOrderError> {
        use v1::CancelOrderError as Error;
        let id = path.order_id;
        match cancel(&request, id).await.map_err(v1::ServerError::from)? {
            Cancelled::Yes => Ok(v1::CancelOrderSuccess::NoContent),
            Cancelled::NotFound => {
                Err(Error::OrderNotFound(message(Error::ORDER_NOT_FOUND_EXAMPLE, &[&id])))
            }
            Cancelled::AlreadyShipped => {
                let example = Error::ORDER_ALREADY_SHIPPED_EXAMPLE;
                Err(Error::OrderAlreadyShipped(message(example, &[&id])))
            }
        }
    }

    async fn get_pet(
        request: Request<'_>,
        path: v1::GetPetPath,
    ) -> Result<v1::GetPetSuccess, v1::GetPetError> {
        let id = path.pet_id;
        let pet = look_up(&request, move |store| store.pet(id)).await;
        match pet.map_err(v1::ServerError::from)? {
            Some(pet) => Ok(v1::GetPetSuccess::Ok(pet.into())),
            None => {
                let example = v1::GetPetError::PET_NOT_FOUND_EXAMPLE;
                Err(v1::GetPetError::PetNotFound(message(example, &[&id])))
            }
        }
    }
}

impl v2::Api for Handlers {
    type Context = Context;
    type Caller = Caller;

    fn error_headers(status: StatusCode, code: &str, headers: &mut HeaderMap) {
        link_error(status, code, &V2, headers);
    }

    async fn list_orders(
        request: Request<'_>,
        query: v2::ListOrdersQuery,
    ) -> Result<v2::ListOrdersSuccess, v2::ListOrdersError> {
        let from = first_id(&query)?;
        let list = current_list(&request).await.map_err(v2::ServerError::from)?;
        Ok(v2::ListOrdersSuccess::Ok(Json::encoded(page_response(&list, &query, from).await)))
    }

    async fn get_order(
        request: Request<'_>,
        path: v2::GetOrderPath,
    ) -> Result<v2::GetOrderSuccess, v2::GetOrderError> {
        let id = path.order_id;
        let list = current_list(&request).await.map_err(v2::ServerError::from)?;
        if let Some(listed) = find_order(&list, id) {
            return Ok(v2::GetOrderSuccess::Ok(Json::encoded(json_body(listed))));
        }
        match cancelled_order(&request, id).await.map_err(v2::ServerError::from)? {
            Some(order) => Ok(v2::GetOrderSuccess::Ok(order.into())),
            None => {
                let example = v2::GetOrderError::ORDER_NOT_FOUND_EXAMPLE;
                Err(v2::GetOrderError::OrderNotFound(message(example, &[&id])))
            }
        }
    }

    async fn cancel_order(
        request: Request<'_>,
        path: v2::CancelOrderPath,
    ) -> Result<v2::CancelOrderSuccess, v2::CancelOrderError> {
        use v2::CancelOrderError as Error;
        let id = path.order_id;
        match cancel(&request, id).await.map_err(v2::ServerError::from)? {
            Cancelled::Yes => Ok(v2::CancelOrderSuccess::NoContent),
            Cancelled::NotFound => {
                Err(Error::OrderNotFound(message(Error::ORDER_NOT_FOUND_EXAMPLE, &[&id])))
            }
            Cancelled::AlreadyShipped => {
                let example = Error::ORDER_ALREADY_SHIPPED_EXAMPLE;
                Err(Error::OrderAlreadyShipped(message(example, &[&id])))
            }
        }
    }
}

/// What became of an order that was to be cancelled.
enum Cancelled {
    Yes,
    NotFound,
    AlreadyShipped,
}

async fn cancel(request: &Request<'_>, id: i64) -> Result<Cancelled, Failure> {
    let (server, caller) = (request.context, request.caller);
    let at = DateTime::from_timestamp_millis(server.clock.now().wall_ms()).unwrap_or_default();
    match server.orders.cancel(id, Arc::clone(&caller.key_id), at, caller.deadline).await {
        Ok(CancelOutcome::Cancelled) => Ok(Cancelled::Yes),
        Ok(CancelOutcome::NotFound) => Ok(Cancelled::NotFound),
        Ok(CancelOutcome::AlreadyShipped) => Ok(Cancelled::AlreadyShipped),
        Ok(CancelOutcome::Expired) => Err(Failure::Unavailable),
        Err(error @ CancelError::NoAnswer) => Err(failed(request, &error)),
        Err(error) => Err(unavailable(request, &error)),
    }
}

/// The list as it stands now.
async fn current_list(request: &Request<'_>) -> Result<Arc<Snapshot>, Failure> {
    let orders = &request.context.orders;
    let list = match &request.caller.list_check {
        Some(check) => orders.list_as_of(check.clone()).await,
        None => orders.list().await,
    };
    list.map_err(|error| match error {
        ListError::Store(_) | ListError::Unchecked(_) => unavailable(request, &error),
        ListError::CutShort => failed(request, &error),
    })
}

/// The order of this id, if it is cancelled. No list shows it.
async fn cancelled_order(request: &Request<'_>, id: i64) -> Result<Option<v2::Order>, Failure> {
    let found = look_up(request, move |store| store.cancelled_order(id)).await?;
    let order = |found: CancelledOrder| {
        Ok(v2::Order {
            id,
            pet_id: found.pet_id,
            quantity: found.quantity.into(),
            ship_date: found.ship_date.map(|date| date.parse()).transpose()?,
            complete: found.complete,
            status: v2::OrderStatus::Cancelled,
            cancelled_at: Some(found.cancelled_at.parse()?),
        })
    };
    let order = found.map(order).transpose();
    order.map_err(|error: chrono::ParseError| failed(request, &error))
}

/// Asks the store for a row, on a thread of its own.
async fn look_up<T: Send + 'static>(
    request: &Request<'_>,
    ask: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let server = request.context;
    // It waits until the request's deadline at most, and is never closed.
    let permit = Arc::clone(&server.row_look_ups).acquire_owned().await;
    let store = Arc::clone(&server.store);
    match run_with(permit, move || ask(&*store)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(unavailable(request, &error)),
        Err(error) => Err(failed(request, &error)),
    }
}

/// Why an operation has no outcome; the cause is in the log.
enum Failure {
    /// 503: the client learns when to try again.
    Unavailable,
    /// 500: the client learns nothing.
    Internal,
}

impl From<Failure> for v1::ServerError {
    fn from(failure: Failure) -> v1::ServerError {
        let text = |code: v1::ErrorCode| message(code.example().unwrap_or_default(), &[]);
        match failure {
            Failure::Unavailable => {
                v1::ServerError::ServiceUnavailable(text(v1::ErrorCode::ServiceUnavailable))
            }
            Failure::Internal => v1::ServerError::InternalError(text(v1::ErrorCode::InternalError)),
        }
    }
}

impl From<Failure> for v2::ServerError {
    fn from(failure: Failure) -> v2::ServerError {
        let text = |code: v2::ErrorCode| message(code.example().unwrap_or_default(), &[]);
        match failure {
            Failure::Unavailable => {
                v2::ServerError::ServiceUnavailable(text(v2::ErrorCode::ServiceUnavailable))
            }
            Failure::Internal => v2::ServerError::InternalError(text(v2::ErrorCode::InternalError)),
        }
    }
}

fn unavailable(request: &Request<'_>, cause: &dyn Error) -> Failure {
    error!(request.context.log, "the store cannot be reached";
        "request_id" => request.id, "error" => %ErrorChain(cause));
    Failure::Unavailable
}

fn failed(request: &Request<'_>, cause: &dyn Error) -> Failure {
    error!(request.context.log, "an operation failed";
        "request_id" => request.id, "error" => %ErrorChain(cause));
    Failure::Internal
}
