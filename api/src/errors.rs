//! Every error the API answers: its code, its status, and when it comes; and for
//! each operation, which of them it may answer.

use crate::headers::{self, Header};
use crate::types::Error;
use http::StatusCode;

/// What an `internal_error` says: never what broke. The log does.
pub const INTERNAL_MESSAGE: &str = "Something went wrong here. Try again; if it persists, report the x-request-id of this response.";

/// The machine-readable codes of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A path parameter of the wrong form.
    InvalidParameter,
    /// No valid key.
    Unauthorized,
    /// No such order, or no longer.
    OrderNotFound,
    /// No such pet.
    PetNotFound,
    /// No such path.
    NotFound,
    /// A known path, another method.
    MethodNotAllowed,
    /// The order can no longer be cancelled.
    OrderAlreadyShipped,
    /// A window is exhausted.
    RateLimitExceeded,
    /// The key is banned for a while.
    KeyBanned,
    /// A fault of the server.
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

    /// The code as it goes over the wire.
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

    /// The status that the code comes with.
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

    /// When the code comes and what to do, as the document says it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Code::InvalidParameter => {
                "A path parameter is no 64-bit integer in plain decimal. Correct the request."
            }
            Code::Unauthorized => {
                "No API key was sent, or it is malformed, unknown, expired or revoked. Check the key."
            }
            Code::OrderNotFound => "There is no such order, or it is already cancelled.",
            Code::PetNotFound => "There is no such pet.",
            Code::NotFound => "There is no such path. Check the base address and the path.",
            Code::MethodNotAllowed => {
                "The path exists, but not with this method. The `Allow` header lists those it takes."
            }
            Code::OrderAlreadyShipped => {
                "The order has already shipped and cannot be cancelled. It is unchanged."
            }
            Code::RateLimitExceeded => {
                "A limit is exhausted. Wait as long as `Retry-After` says, then go on."
            }
            Code::KeyBanned => {
                "The key kept sending after a 429 and is banned for a while. Stop until \
                 `Retry-After` has passed."
            }
            Code::InternalError => "A fault of the server. Try again later.",
            Code::ServiceUnavailable => {
                "The server cannot reach its data. Wait as long as `Retry-After` says."
            }
        }
    }

    /// An error of this code, with what was wrong this time.
    pub fn with_message(self, message: String) -> Error {
        Error { code: self.as_str().to_string(), message, status: self.status().as_u16() }
    }
}

/// 400: the path parameter `name` is of the wrong form.
pub fn invalid_parameter(name: &str) -> Error {
    Code::InvalidParameter.with_message(format!(
        "The path parameter {name} must be a 64-bit integer in plain decimal, such as 42."
    ))
}

/// 401, the same for every way in which a key can be missing or invalid.
pub fn unauthorized() -> Error {
    Code::Unauthorized.with_message(
        "No valid API key was sent. Send yours in one header: Authorization: Bearer <API_KEY>."
            .to_string(),
    )
}

/// 404: no such path.
pub fn not_found() -> Error {
    Code::NotFound.with_message(
        "There is no such path. The paths are those of the API document, at /openapi.json."
            .to_string(),
    )
}

/// 405: `allow` is what the `Allow` header says.
pub fn method_not_allowed(allow: &str) -> Error {
    Code::MethodNotAllowed
        .with_message(format!("This path does not take this method. It takes: {allow}."))
}

/// 429: the window of `limit` requests a `unit` is exhausted for `seconds` more.
pub fn rate_limit_exceeded(limit: u32, unit: &str, seconds: u64) -> Error {
    Code::RateLimitExceeded.with_message(format!(
        "The limit of {limit} requests a {unit} is exhausted. Wait {seconds} s before the next request."
    ))
}

/// 429: the key is banned for `seconds` more.
pub fn key_banned(seconds: u64) -> Error {
    Code::KeyBanned.with_message(format!(
        "This key is banned for {seconds} s more because it kept sending after 429. Back off \
         exponentially after a 429."
    ))
}

/// 500: says nothing of what broke.
pub fn internal_error() -> Error {
    Code::InternalError.with_message(INTERNAL_MESSAGE.to_string())
}

/// 503: the store cannot be read or written.
pub fn service_unavailable() -> Error {
    Code::ServiceUnavailable.with_message(
        "The service cannot reach its data at the moment. Try again after the seconds in \
         Retry-After."
            .to_string(),
    )
}

/// The errors that an operation may answer by itself, as its handler returns
/// them. What the front door answers before any handler is not among them.
pub trait OperationError: Copy + 'static {
    /// One of each, which is what the document lists and shows as examples.
    const EACH: &'static [Self];

    /// The error's code.
    fn code(self) -> Code;

    /// The error as it goes over the wire.
    fn into_error(self) -> Error;
}

/// What listOrders may answer besides the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrdersError {
    /// The store cannot be read.
    Unavailable,
}

impl OperationError for ListOrdersError {
    const EACH: &'static [Self] = &[ListOrdersError::Unavailable];

    fn code(self) -> Code {
        match self {
            ListOrdersError::Unavailable => Code::ServiceUnavailable,
        }
    }

    fn into_error(self) -> Error {
        match self {
            ListOrdersError::Unavailable => service_unavailable(),
        }
    }
}

/// What cancelOrder may answer besides 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOrderError {
    /// `orderId` is of the wrong form.
    InvalidId,
    /// There is no order of this id, or it is cancelled already.
    NotFound(i64),
    /// The order of this id has shipped and is unchanged.
    AlreadyShipped(i64),
    /// The store cannot be written; nothing was changed.
    Unavailable,
}

impl OperationError for CancelOrderError {
    const EACH: &'static [Self] = &[
        CancelOrderError::InvalidId,
        CancelOrderError::NotFound(1042),
        CancelOrderError::AlreadyShipped(1042),
        CancelOrderError::Unavailable,
    ];

    fn code(self) -> Code {
        match self {
            CancelOrderError::InvalidId => Code::InvalidParameter,
            CancelOrderError::NotFound(_) => Code::OrderNotFound,
            CancelOrderError::AlreadyShipped(_) => Code::OrderAlreadyShipped,
            CancelOrderError::Unavailable => Code::ServiceUnavailable,
        }
    }

    fn into_error(self) -> Error {
        match self {
            CancelOrderError::InvalidId => invalid_parameter("orderId"),
            CancelOrderError::NotFound(id) => Code::OrderNotFound.with_message(format!(
                "There is no order {id}: it never was, or it is already cancelled."
            )),
            CancelOrderError::AlreadyShipped(id) => Code::OrderAlreadyShipped.with_message(
                format!("Order {id} has already shipped and cannot be cancelled. It is unchanged."),
            ),
            CancelOrderError::Unavailable => service_unavailable(),
        }
    }
}

/// What getPet may answer besides the pet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GetPetError {
    /// `petId` is of the wrong form.
    InvalidId,
    /// There is no pet of this id.
    NotFound(i64),
    /// The store cannot be read.
    Unavailable,
}

impl OperationError for GetPetError {
    const EACH: &'static [Self] =
        &[GetPetError::InvalidId, GetPetError::NotFound(7), GetPetError::Unavailable];

    fn code(self) -> Code {
        match self {
            GetPetError::InvalidId => Code::InvalidParameter,
            GetPetError::NotFound(_) => Code::PetNotFound,
            GetPetError::Unavailable => Code::ServiceUnavailable,
        }
    }

    fn into_error(self) -> Error {
        match self {
            GetPetError::InvalidId => invalid_parameter("petId"),
            GetPetError::NotFound(id) => {
                Code::PetNotFound.with_message(format!("There is no pet {id}."))
            }
            GetPetError::Unavailable => service_unavailable(),
        }
    }
}

/// What the front door answers on every operation, whatever its handler does:
/// each code with an example.
pub fn on_every_operation() -> [(Code, Error); 5] {
    [
        (Code::Unauthorized, unauthorized()),
        (Code::RateLimitExceeded, rate_limit_exceeded(300, "minute", 42)),
        (Code::KeyBanned, key_banned(300)),
        (Code::InternalError, internal_error()),
        (Code::ServiceUnavailable, service_unavailable()),
    ]
}

/// What the document says of the errors of a status.
pub const fn description_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "A path parameter is of the wrong form",
        401 => {
            "Missing or invalid API key. The body is the same for every way in which a key can \
             be wrong. A caller who sends too many such requests gets 429 instead."
        }
        404 => "Requested resource could not be found",
        409 => "Order cannot be cancelled because it has already shipped. It is unchanged.",
        429 => {
            "Rate limit exceeded, or the key is banned for sending on after a 429. Wait as long \
             as `Retry-After` says."
        }
        _ => {
            "The service failed. 500 is a fault of the server; 503 means that it cannot reach its \
             data, and carries `Retry-After`. Both may be tried again."
        }
    }
}

/// The headers that a response of this status has besides those of every
/// response, and whether each is on all of them.
pub fn headers_of(status: StatusCode) -> &'static [(&'static Header, bool)] {
    static CHALLENGE: [(&Header, bool); 1] = [(&headers::WWW_AUTHENTICATE, true)];
    static LIMITED: [(&Header, bool); 1] = [(&headers::RETRY_AFTER, true)];
    static FAILED: [(&Header, bool); 1] = [(&headers::RETRY_AFTER, false)];
    match status {
        StatusCode::UNAUTHORIZED => &CHALLENGE,
        StatusCode::TOO_MANY_REQUESTS => &LIMITED,
        status if status.is_server_error() => &FAILED,
        _ => &[],
    }
}
