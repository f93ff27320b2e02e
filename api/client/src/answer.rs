//! Every operation sends its request through this module. The module converts the result of
//! progenitor's client to a [`Response`] or an [`Error`].

use crate::call::{Call, Sent};
use crate::error::Error;
use crate::error_kind::ErrorKind;
use crate::request::{Answer, Request};
use crate::response::{Head, Response};
use crate::span::in_span;
use reqwest::StatusCode;

/// Sends a request, with retries, in the span of the call.
pub(crate) async fn send<R: Request>(request: R) -> Result<Response<R::Value>, Error> {
    send_and_map(request, |result| result).await
}

/// Sends a request, with retries. The span records the outcome after `map`, because `map` may turn
/// an error into a success.
pub(crate) async fn send_and_map<R: Request, T>(
    mut request: R,
    map: impl FnOnce(Result<Response<R::Value>, Error>) -> Result<Response<T>, Error>,
) -> Result<Response<T>, Error> {
    let call = request.call().next();
    *request.call() = call.clone();
    let span = request.span();
    in_span(span, async { map(convert(request.execute().await, &call).await) }).await
}

async fn convert<T>(answer: Answer<T>, call: &Call) -> Result<Response<T>, Error> {
    let sent = call.sent();
    match answer {
        Ok(response) => {
            let head = Head { status: response.status(), headers: response.headers().clone() };
            Ok(Response::new(response.into_inner(), head, sent.attempts))
        }
        Err(error) => Err(convert_error(error, sent).await),
    }
}

async fn convert_error(error: progenitor_client::Error<()>, sent: Sent) -> Error {
    use progenitor_client::Error as Failed;
    match error {
        Failed::UnexpectedResponse(response) => match response.bytes().await {
            Ok(body) => match serde_json::from_slice(&body) {
                Ok(body) => Error::response(sent, body),
                Err(error) => Error::undocumented(sent, error),
            },
            Err(error) => Error::new(ErrorKind::from_body_error(&error), sent, error),
        },
        Failed::InvalidResponsePayload(_, error) => Error::undocumented(sent, error),
        Failed::ResponseBodyError(error) => {
            Error::new(ErrorKind::from_body_error(&error), sent, error)
        }
        Failed::CommunicationError(error) | Failed::InvalidUpgrade(error) => {
            Error::new(ErrorKind::from_send_error(&error), sent, error)
        }
        Failed::ErrorResponse(_) => Error::undocumented(sent, "an error without a body"),
        Failed::InvalidRequest(message) | Failed::Custom(message) => {
            Error::new(ErrorKind::Request, sent, message)
        }
    }
}

/// Converts the error that progenitor returns for a 304 to a success with the value `None`.
pub(crate) fn unless_unchanged<T>(
    result: Result<Response<T>, Error>,
) -> Result<Response<Option<T>>, Error> {
    match result {
        Ok(response) => Ok(response.map(Some)),
        Err(error) if error.status() == Some(StatusCode::NOT_MODIFIED) => error.into_response(None),
        Err(error) => Err(error),
    }
}
