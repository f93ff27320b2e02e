//! Converts the results of progenitor's client to the results of calls.

use crate::call::{Call, Sent};
use crate::error::Error;
use crate::error_kind::ErrorKind;
use crate::response::{Head, Response};
use crate::values::ErrorCode;
use progenitor_client::ResponseValue;

/// The result of progenitor's client. The error type is `()`, because this module parses the error
/// bodies itself.
pub(crate) type Answer<T> = Result<ResponseValue<T>, progenitor_client::Error<()>>;

pub(crate) async fn convert<T>(answer: Answer<T>, call: &Call) -> Result<Response<T>, Error> {
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

/// Converts a response with one of these statuses to a success with the value `None`, because the
/// response has no content.
pub(crate) fn or_empty<T>(
    result: Result<Response<T>, Error>,
    statuses: &[u16],
) -> Result<Response<Option<T>>, Error> {
    result.map(|response| response.map(Some)).or_else(|error| {
        let is_empty = error.status().is_some_and(|status| statuses.contains(&status.as_u16()));
        if is_empty { error.into_response(None) } else { Err(error) }
    })
}

/// Converts a success to `done`. If an earlier attempt may have been carried out, converts an error
/// with one of these codes to `after_retry`.
pub(crate) fn with_outcome<T>(
    result: Result<Response<()>, Error>,
    done: T,
    after_retry: T,
    codes: &[ErrorCode],
) -> Result<Response<T>, Error> {
    match result {
        Ok(response) => Ok(response.map(|()| done)),
        Err(error) if error.follows_success(codes) => error.into_response(after_retry),
        Err(error) => Err(error),
    }
}
