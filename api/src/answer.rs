//! What a handler returns: its success, or one of its documented errors.
//!
//! It is never dropshot's error, which cannot carry headers and cannot be
//! inspected by the middleware.

use crate::errors::Error;
use crate::headers::is_linked;
use crate::operations::OperationError;
use dropshot::{ApiEndpointResponse, Body, HttpCodedResponse, HttpError, HttpResponse};
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

/// The code of an error whose response has a `Link`, in the extensions of that response: the
/// middleware sets the header, which names the document of the request's version.
#[derive(Clone, Debug)]
pub struct LinkedCode(pub String);

/// The response with `error` as its body.
pub fn error_response(error: &Error) -> Response<Body> {
    let body = serde_json::to_vec(error).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() =
        StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    if is_linked(response.status()) {
        response.extensions_mut().insert(LinkedCode(error.code.clone()));
    }
    response
}
