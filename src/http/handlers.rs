//! Implements the operations of all versions. A handler calls the order list or the store, and
//! converts the result to a response.

use super::caller::Caller;
use super::negotiation::{RequiredTags, accepts_gzip, field_matches_tag, required_tags};
use super::order_page::{PageAnswer, PageRequest};
use crate::context::ServerContext;
use crate::log::{ErrorChain, log_failed_request};
use crate::orders::{
    CancelError, ListError, Payload, PayloadBody, Snapshot, find_order, order_tag, page_tag,
};
use crate::store::{CancelOutcome, Cancellation, OrderStatus, Position, Store, StoreError};
use chrono::DateTime;
use dropshot::Body;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::Serialize;
use std::error::Error;
use std::sync::Arc;
use store_orders_api::documents::{V1, V2};
use store_orders_api::errors::message;
use store_orders_api::headers::link_error;
use store_orders_api::operation::Json;
use store_orders_api::{v1, v2};
use tokio::time::timeout_at;

pub enum Handlers {}

/// True if the operation always reads the list. For such an operation, the middleware requests the
/// store's last changes before the handler runs.
pub fn reads_list(operation_id: &str) -> bool {
    matches!(operation_id, "listOrders" | "getOrder")
}

type Context = Arc<ServerContext>;
type Request<'a> = store_orders_api::operation::Request<'a, Context, Caller>;

impl v1::Api for Handlers {
    type Context = Context;
    type Caller = Caller;

    fn error_headers(_: StatusCode, code: &str, headers: &mut HeaderMap) {
        link_error(code, &V1, headers);
    }

    async fn list_orders(
        request: Request<'_>,
        header: v1::ListOrdersHeader,
    ) -> Result<v1::ListOrdersSuccess, v1::ListOrdersError> {
        let (list, _) = current_list(&request).await.map_err(v1::ServerError::from)?;
        let etag = list.tag().clone();
        if etag_matches(&header.if_none_match, &etag) {
            return Ok(v1::ListOrdersSuccess::NotModified { etag });
        }
        let gzip = accepts_gzip(request.headers);
        let payload = request.context.orders.list_payload(&list, gzip);
        Ok(v1::ListOrdersSuccess::Ok { body: to_json(payload), etag })
    }

    async fn cancel_order(
        request: Request<'_>,
        path: v1::CancelOrderPath,
    ) -> Result<v1::CancelOrderSuccess, v1::CancelOrderError> {
        use v1::CancelOrderError as Error;
        let id = path.order_id;
        match cancel(&request, id).await.map_err(v1::ServerError::from)? {
            CancelOutcome::Cancelled => Ok(v1::CancelOrderSuccess::NoContent),
            CancelOutcome::NotFound => {
                Err(Error::OrderNotFound(message(Error::ORDER_NOT_FOUND_EXAMPLE, &[&id])))
            }
            CancelOutcome::AlreadyShipped => {
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
        let pet = look_up(&request, move |store| async move { store.pet(id).await }).await;
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

    fn error_headers(_: StatusCode, code: &str, headers: &mut HeaderMap) {
        link_error(code, &V2, headers);
    }

    async fn list_orders(
        request: Request<'_>,
        query: v2::ListOrdersQuery,
        header: v2::ListOrdersHeader,
    ) -> Result<v2::ListOrdersSuccess, v2::ListOrdersError> {
        let page_request = PageRequest::from_query(&query)?;
        let (list, _) = current_list(&request).await.map_err(v2::ServerError::from)?;
        let page = page_request.page(&list).await;
        let page = or_internal_error(page, &request).map_err(v2::ServerError::from);
        let PageAnswer { json, link } = page?;
        let etag = page_tag(&json);
        if etag_matches(&header.if_none_match, &etag) {
            return Ok(v2::ListOrdersSuccess::NotModified { etag });
        }
        let gzip = accepts_gzip(request.headers);
        let payload = request.context.orders.part_payload(json, gzip).await;
        let payload = or_internal_error(payload, &request).map_err(v2::ServerError::from)?;
        Ok(v2::ListOrdersSuccess::Ok { body: to_json(payload), etag, link })
    }

    async fn get_order(
        request: Request<'_>,
        path: v2::GetOrderPath,
        header: v2::GetOrderHeader,
    ) -> Result<v2::GetOrderSuccess, v2::GetOrderError> {
        let id = path.order_id;
        let (list, position) = current_list(&request).await.map_err(v2::ServerError::from)?;
        let order = match find_order(&list, id) {
            Some(order) => Some(v2::Order::from(order)),
            // The list does not contain cancelled orders, so the store is queried.
            None => {
                let query = |store: Arc<dyn Store>| async move {
                    store.cancelled_order(id, position.history).await
                };
                let row = look_up(&request, query).await.map_err(v2::ServerError::from)?;
                row.as_ref().map(v2::Order::from)
            }
        };
        let Some(order) = order else {
            let example = v2::GetOrderError::ORDER_NOT_FOUND_EXAMPLE;
            return Err(v2::GetOrderError::OrderNotFound(message(example, &[&id])));
        };
        let json = or_internal_error(serde_json::to_vec(&order), &request);
        let json = json.map_err(v2::ServerError::from)?;
        let etag = order_tag(&json);
        if etag_matches(&header.if_none_match, &etag) {
            return Ok(v2::GetOrderSuccess::NotModified { etag });
        }
        Ok(v2::GetOrderSuccess::Ok { body: Json::encoded(json.into(), false), etag })
    }

    async fn cancel_order(
        request: Request<'_>,
        path: v2::CancelOrderPath,
        header: v2::CancelOrderHeader,
    ) -> Result<v2::CancelOrderSuccess, v2::CancelOrderError> {
        use v2::CancelOrderError as Error;
        let id = path.order_id;
        let outcome = match header.if_match.as_deref().and_then(required_tags) {
            None => cancel(&request, id).await.map(Some),
            Some(tags) => cancel_if_match(&request, id, tags).await,
        };
        match outcome.map_err(v2::ServerError::from)? {
            Some(CancelOutcome::Cancelled) => Ok(v2::CancelOrderSuccess::NoContent),
            Some(CancelOutcome::NotFound) => {
                Err(Error::OrderNotFound(message(Error::ORDER_NOT_FOUND_EXAMPLE, &[&id])))
            }
            Some(CancelOutcome::AlreadyShipped) => {
                let example = Error::ORDER_ALREADY_SHIPPED_EXAMPLE;
                Err(Error::OrderAlreadyShipped(message(example, &[&id])))
            }
            None => {
                let example = Error::PRECONDITION_FAILED_EXAMPLE;
                Err(Error::PreconditionFailed(message(example, &[&id])))
            }
        }
    }
}

/// Logs an error that only a bug causes, and converts it to a 500.
fn or_internal_error<T>(
    result: Result<T, impl Error>,
    request: &Request<'_>,
) -> Result<T, HandlerFailure> {
    result.map_err(|error| HandlerFailure::log_internal(request, error))
}

async fn cancel(request: &Request<'_>, id: i64) -> Result<CancelOutcome, HandlerFailure> {
    let outcome = cancel_unless_changed(request, id, None).await;
    outcome.map_err(|error| cancel_failure(request, error))
}

/// Cancels the order. Returns `None` if the order is pending but its tag is not in `tags`. If the
/// order may have changed since the list was read, starts again with a fresher list.
async fn cancel_if_match(
    request: &Request<'_>,
    id: i64,
    tags: RequiredTags<'_>,
) -> Result<Option<CancelOutcome>, HandlerFailure> {
    loop {
        // The middleware sends no freshness query for this operation, so each round sends its own.
        let list = timeout_at(request.caller.deadline.into(), current_list(request)).await;
        let (list, position) =
            list.map_err(|_| cancel_failure(request, CancelError::TimedOut))??;
        let Some(order) = find_order(&list, id) else { return Ok(Some(CancelOutcome::NotFound)) };
        // Other errors take precedence over a failed precondition (RFC 9110, 13.2.1).
        if matches!(order.status, OrderStatus::Shipped) {
            return Ok(Some(CancelOutcome::AlreadyShipped));
        }
        let json = or_internal_error(serde_json::to_vec(&v2::Order::from(order)), request)?;
        if !tags.contain(&order_tag(&json)) {
            return Ok(None);
        }
        match cancel_unless_changed(request, id, Some(position)).await {
            Err(CancelError::Changed) => {}
            outcome => return outcome.map(Some).map_err(|error| cancel_failure(request, error)),
        }
    }
}

async fn cancel_unless_changed(
    request: &Request<'_>,
    order_id: i64,
    unchanged_since: Option<Position>,
) -> Result<CancelOutcome, CancelError> {
    let (server, caller) = (request.context, request.caller);
    let at = DateTime::from_timestamp_millis(server.clock.now().wall_ms()).unwrap_or_default();
    let (key_id, deadline) = (Arc::clone(&caller.key.id), caller.deadline);
    let cancellation = Cancellation { order_id, key_id, at, deadline, unchanged_since };
    server.orders.cancel(cancellation).await
}

fn cancel_failure(request: &Request<'_>, error: CancelError) -> HandlerFailure {
    match error {
        CancelError::NoAnswer => HandlerFailure::log_internal(request, error),
        error => HandlerFailure::log_unavailable(request, error),
    }
}

/// True if the client already has the response with this tag, or sent `If-None-Match: *`.
fn etag_matches(if_none_match: &Option<String>, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    if_none_match.as_ref().is_some_and(|sent| field_matches_tag(sent, tag))
}

fn to_json<T: Serialize>(Payload { body, is_gzip }: Payload) -> Json<T> {
    let json = match body {
        PayloadBody::Whole(bytes) => Body::from(bytes),
        PayloadBody::Pieces(pieces) => Body::wrap(pieces),
    };
    Json::encoded(json, is_gzip)
}

/// Returns a fresh list and a position. The list has at least all changes up to the position.
async fn current_list(request: &Request<'_>) -> Result<(Arc<Snapshot>, Position), HandlerFailure> {
    let orders = &request.context.orders;
    let list = match &request.caller.freshness {
        Some(freshness) => orders.fresh_list(freshness.clone()).await,
        None => async { orders.fresh_list(orders.query_freshness()?).await }.await,
    };
    list.map_err(|error| match error {
        ListError::Store(_) | ListError::Freshness(_) => {
            HandlerFailure::log_unavailable(request, error)
        }
        ListError::CutShort => HandlerFailure::log_internal(request, error),
    })
}

/// Queries the store for a row. Waits for a permit of `row_lookups`, which limits the number of
/// concurrent queries. The query keeps the permit until the store answers, even if the client
/// disconnects.
async fn look_up<T, F>(
    request: &Request<'_>,
    query: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, HandlerFailure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let server = request.context;
    // The middleware ends this wait at the request's deadline. The result is always a permit,
    // because the semaphore is never closed.
    let permit = Arc::clone(&server.row_lookups).acquire_owned().await;
    let query = query(Arc::clone(&server.store));
    let answer = tokio::spawn(async move {
        let _permit = permit;
        query.await
    });
    match answer.await {
        Ok(Ok(row)) => Ok(row),
        Ok(Err(error)) => Err(HandlerFailure::log_unavailable(request, error)),
        Err(error) => Err(HandlerFailure::log_internal(request, error)),
    }
}

/// The failure of an operation. The server logs the cause and does not send the cause to the
/// client.
enum HandlerFailure {
    /// A 503, which tells the client when to try again.
    Unavailable,
    /// A 500, for a bug or damaged data.
    Internal,
}

impl HandlerFailure {
    fn log_unavailable(request: &Request<'_>, cause: impl Error) -> HandlerFailure {
        log_cause(request, StatusCode::SERVICE_UNAVAILABLE, &cause);
        HandlerFailure::Unavailable
    }

    fn log_internal(request: &Request<'_>, cause: impl Error) -> HandlerFailure {
        log_cause(request, StatusCode::INTERNAL_SERVER_ERROR, &cause);
        HandlerFailure::Internal
    }
}

fn log_cause(request: &Request<'_>, status: StatusCode, cause: &dyn Error) {
    log_failed_request(&request.context.log, request.id, status, &ErrorChain(cause));
}

impl From<HandlerFailure> for v1::ServerError {
    fn from(failure: HandlerFailure) -> v1::ServerError {
        use v1::ServerError as Error;
        match failure {
            HandlerFailure::Unavailable => {
                Error::ServiceUnavailable(Error::SERVICE_UNAVAILABLE_EXAMPLE.to_string())
            }
            HandlerFailure::Internal => {
                Error::InternalError(Error::INTERNAL_ERROR_EXAMPLE.to_string())
            }
        }
    }
}

impl From<HandlerFailure> for v2::ServerError {
    fn from(failure: HandlerFailure) -> v2::ServerError {
        use v2::ServerError as Error;
        match failure {
            HandlerFailure::Unavailable => {
                Error::ServiceUnavailable(Error::SERVICE_UNAVAILABLE_EXAMPLE.to_string())
            }
            HandlerFailure::Internal => {
                Error::InternalError(Error::INTERNAL_ERROR_EXAMPLE.to_string())
            }
        }
    }
}
