//! The error body, every error code with its status and meaning, and the
//! messages.

use crate::documents::Document;
use dropshot::{ErrorStatusCode, HttpError, HttpResponseError};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// Machine-readable error code. Codes may be added: handle an unknown one by
    /// its `status`.
    pub code: String,
    /// Human-readable description: what was wrong with this request and, where
    /// possible, what to do.
    pub message: String,
    /// The HTTP status code.
    #[schemars(schema_with = "crate::types::integer")]
    pub status: u16,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.message)
    }
}

/// Dropshot requires this conversion from its own failures. No handler fails
/// that way, so any such failure is an internal error.
impl From<HttpError> for Error {
    fn from(_: HttpError) -> Self {
        internal_error()
    }
}

impl HttpResponseError for Error {
    fn status_code(&self) -> ErrorStatusCode {
        ErrorStatusCode::from_u16(self.status).unwrap_or(ErrorStatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The machine-readable codes of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A malformed parameter.
    InvalidParameter,
    /// No valid key.
    Unauthorized,
    /// No such order, or it is already cancelled.
    OrderNotFound,
    /// No such pet.
    PetNotFound,
    /// No such path.
    NotFound,
    /// A known path, another method.
    MethodNotAllowed,
    /// The order can no longer be cancelled.
    OrderAlreadyShipped,
    /// The limit of a window is exceeded.
    RateLimitExceeded,
    /// The key is temporarily banned.
    KeyBanned,
    /// The server failed.
    InternalError,
    /// The store cannot be read or written.
    ServiceUnavailable,
}

impl Code {
    /// Every code, in the order of their statuses.
    pub const ALL: [Code; 11] = [
        Code::InvalidParameter,
        Code::Unauthorized,
        Code::OrderNotFound,
        Code::PetNotFound,
        Code::NotFound,
        Code::MethodNotAllowed,
        Code::OrderAlreadyShipped,
        Code::RateLimitExceeded,
        Code::KeyBanned,
        Code::InternalError,
        Code::ServiceUnavailable,
    ];

    /// The code as sent over the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::InvalidParameter => "invalid_parameter",
            Code::Unauthorized => "unauthorized",
            Code::OrderNotFound => "order_not_found",
            Code::PetNotFound => "pet_not_found",
            Code::NotFound => "not_found",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::OrderAlreadyShipped => "order_already_shipped",
            Code::RateLimitExceeded => "rate_limit_exceeded",
            Code::KeyBanned => "key_banned",
            Code::InternalError => "internal_error",
            Code::ServiceUnavailable => "service_unavailable",
        }
    }

    /// The HTTP status of the code.
    pub const fn status(self) -> StatusCode {
        match self {
            Code::InvalidParameter => StatusCode::BAD_REQUEST,
            Code::Unauthorized => StatusCode::UNAUTHORIZED,
            Code::OrderNotFound | Code::PetNotFound | Code::NotFound => StatusCode::NOT_FOUND,
            Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Code::OrderAlreadyShipped => StatusCode::CONFLICT,
            Code::RateLimitExceeded | Code::KeyBanned => StatusCode::TOO_MANY_REQUESTS,
            Code::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Code::ServiceUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The document's text: when the code is sent, and what to do.
    pub const fn meaning(self) -> &'static str {
        match self {
            Code::InvalidParameter => {
                "A path parameter is not a 64-bit integer in plain decimal. Correct the request."
            }
            Code::Unauthorized => {
                "No API key was sent, or it is malformed, unknown, expired or revoked. Check the key."
            }
            Code::OrderNotFound => "There is no such order, or it is already cancelled.",
            Code::PetNotFound => "There is no such pet.",
            Code::NotFound => "There is no such path. Check the base address and the path.",
            Code::MethodNotAllowed => {
                "The path does not support this method. The `Allow` header lists those that it does."
            }
            Code::OrderAlreadyShipped => {
                "The order has already shipped and cannot be cancelled. It is unchanged."
            }
            Code::RateLimitExceeded => {
                "A rate limit is exceeded. Wait for the time in `Retry-After`, then continue."
            }
            Code::KeyBanned => {
                "The key kept sending requests after a 429 and is temporarily banned. Stop until \
                 the time in `Retry-After` has passed."
            }
            Code::InternalError => "The server failed. Try again later.",
            Code::ServiceUnavailable => {
                "The server cannot reach its data. Wait for the time in `Retry-After`."
            }
        }
    }

    /// The document's text for every response of the code's status.
    pub const fn status_description(self) -> &'static str {
        match self {
            Code::InvalidParameter => "A path parameter is malformed",
            Code::Unauthorized => {
                "Missing or invalid API key. The body does not say what is wrong with the key, \
                 unless it is a key for the other environment. A client that sends too many such requests gets 429 instead."
            }
            Code::OrderNotFound | Code::PetNotFound | Code::NotFound => {
                "Requested resource could not be found"
            }
            Code::MethodNotAllowed => "The path does not support this method",
            Code::OrderAlreadyShipped => {
                "Order cannot be cancelled because it has already shipped. It is unchanged."
            }
            Code::RateLimitExceeded | Code::KeyBanned => {
                "Rate limit exceeded, or the key is banned because it kept sending requests after \
                 a 429. Wait for the time in `Retry-After`."
            }
            Code::InternalError | Code::ServiceUnavailable => {
                "The service failed. 500 is an internal error; 503 means that the server cannot \
                 reach its data, and carries `Retry-After`. Both can be retried."
            }
        }
    }

    /// An error of this code.
    pub fn with_message(self, message: String) -> Error {
        Error { code: self.as_str().to_string(), message, status: self.status().as_u16() }
    }
}

/// 400: the path parameter `name` is malformed.
pub fn invalid_parameter(name: &str) -> Error {
    Code::InvalidParameter.with_message(format!(
        "The path parameter {name} must be a 64-bit integer in plain decimal, such as 42."
    ))
}

/// 401, the same whether the key is missing or invalid in any way but one.
pub fn unauthorized() -> Error {
    Code::Unauthorized.with_message(
        "No valid API key was sent. Send your key in the Authorization header: Authorization: \
         Bearer <API_KEY>."
            .to_string(),
    )
}

/// 401: the key has the form of one of the other environment, which its prefix alone tells.
pub fn key_of_other_environment(its: &str, here: &str) -> Error {
    Code::Unauthorized.with_message(format!(
        "This API key is for {its}, and this is the address of {here}. Send it to the address of \
         {its}, or use a key for {here}."
    ))
}

/// 404: no such path.
pub fn not_found(document: &Document) -> Error {
    let path = document.path;
    Code::NotFound
        .with_message(format!("There is no such path. The API document at {path} lists the paths."))
}

/// 405: `allow` is what the `Allow` header says.
pub fn method_not_allowed(allow: &str) -> Error {
    Code::MethodNotAllowed
        .with_message(format!("This path does not support this method. It supports: {allow}."))
}

/// 429: the limit of `limit` requests a `unit` is exceeded for `seconds` more.
pub fn rate_limit_exceeded(limit: u32, unit: &str, seconds: u64) -> Error {
    Code::RateLimitExceeded.with_message(format!(
        "The limit of {limit} requests a {unit} is exhausted. Wait {seconds} s before the next request."
    ))
}

/// 429: the key is banned for `seconds` more.
pub fn key_banned(seconds: u64) -> Error {
    Code::KeyBanned.with_message(format!(
        "This key is banned for {seconds} s more because it kept sending requests after a 429. Back off \
         exponentially after a 429."
    ))
}

/// 500: never says what failed; the log does.
pub fn internal_error() -> Error {
    Code::InternalError.with_message(
        "The server failed. Try again; if it persists, report the x-request-id of this response."
            .to_string(),
    )
}

/// 503: the store cannot be read or written.
pub fn service_unavailable() -> Error {
    Code::ServiceUnavailable.with_message(
        "The service cannot reach its data at the moment. Try again after the seconds in \
         Retry-After."
            .to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::V1;

    #[test]
    fn an_error_is_shown_with_its_status_and_code() {
        let shown = not_found(&V1).to_string();
        assert!(shown.starts_with("404 not_found: ") && shown.len() > 20, "{shown}");
    }
}
