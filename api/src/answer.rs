//! What a handler returns: its success, or one of its documented errors.
//!
//! It is never dropshot's error, which cannot carry headers and cannot be
//! inspected by the middleware.

use crate::errors::{Error, OperationError};
use crate::headers;
use crate::types::{Order, Pet};
use dropshot::{
    ApiEndpointResponse, Body, HttpCodedResponse, HttpError, HttpResponse, HttpResponseDeleted,
    HttpResponseOk,
};
use http::{Response, StatusCode, header};

/// The success `T` or one of the documented errors `E`. Dropshot documents `T`;
/// `document` adds the errors.
#[derive(Debug)]
pub enum Answer<T, E> {
    /// The operation succeeded.
    Success(T),
    /// The operation failed.
    Error(E),
}

impl<T, E> HttpResponse for Answer<T, E>
where
    T: HttpCodedResponse,
    E: OperationError,
{
    fn to_result(self) -> Result<Response<Body>, HttpError> {
        match self {
            Answer::Success(success) => success.into(),
            Answer::Error(error) => Ok(error_response(&error.into_error())),
        }
    }

    fn response_metadata() -> ApiEndpointResponse {
        T::response_metadata()
    }

    fn status_code(&self) -> StatusCode {
        T::STATUS_CODE
    }
}

/// The response with `error` as its body, and on 401 and 404 with a `Link` to what is said of it.
pub fn error_response(error: &Error) -> Response<Body> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    let link = headers::error_link(response.status(), &error.code);
    if let Some(link) = link.and_then(|link| header::HeaderValue::try_from(link).ok()) {
        response.headers_mut().insert(&headers::LINK.wire, link);
    }
    response
}

/// 200 of listOrders: the list, encoded in advance. In the document it is an
/// array of `Order`.
#[derive(Debug)]
pub struct Listed(pub Response<Body>);

impl From<Listed> for Result<Response<Body>, HttpError> {
    fn from(listed: Listed) -> Self {
        Ok(listed.0)
    }
}

impl HttpCodedResponse for Listed {
    type Body = Vec<Order>;
    const STATUS_CODE: StatusCode = StatusCode::OK;
    const DESCRIPTION: &'static str = "Orders returned";
}

/// 204 of cancelOrder.
pub struct Cancelled;

impl From<Cancelled> for Result<Response<Body>, HttpError> {
    fn from(_: Cancelled) -> Self {
        HttpResponseDeleted().into()
    }
}

impl HttpCodedResponse for Cancelled {
    type Body = <HttpResponseDeleted as HttpCodedResponse>::Body;
    const STATUS_CODE: StatusCode = StatusCode::NO_CONTENT;
    const DESCRIPTION: &'static str = "Order cancelled";
}

/// 200 of getPet.
pub struct Found(pub Pet);

impl From<Found> for Result<Response<Body>, HttpError> {
    fn from(found: Found) -> Self {
        HttpResponseOk(found.0).into()
    }
}

impl HttpCodedResponse for Found {
    type Body = Pet;
    const STATUS_CODE: StatusCode = StatusCode::OK;
    const DESCRIPTION: &'static str = "Pet found";
}
