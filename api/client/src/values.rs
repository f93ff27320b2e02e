//! Enums of values to which the API may add: error codes and statuses of orders.

use crate::ErrorBody;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Defines an enum of strings, with a variant `Other` for strings that this version of the client
/// does not know.
macro_rules! extensible_enum {
    (
        $(#[$enum_doc:meta])*
        $name:ident, $noun:literal {
            $($(#[$doc:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] $(#[$doc])* $variant,)*
            #[doc = concat!("A ", $noun, " that this version of the client does not know.")]
            Other(String),
        }

        impl $name {
            #[doc = concat!("The ", $noun, " as it is sent.")]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_string()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
            }
        }
    };
}

extensible_enum! {
    /// The `code` of an error response.
    ///
    /// The API may add codes: [`Other`](Self::Other) holds a code that this version of the client
    /// does not know. Handle such a code by its status.
    ErrorCode, "code" {
        /// A parameter is malformed. Correct the request.
        InvalidParameter = "invalid_parameter",
        /// No API key was sent, or it is malformed, unknown, expired or revoked. Check the key.
        Unauthorized = "unauthorized",
        /// There is no such order, or it is already cancelled.
        OrderNotFound = "order_not_found",
        /// There is no such pet.
        PetNotFound = "pet_not_found",
        /// There is no such path. Check the base address and the path.
        NotFound = "not_found",
        /// The path does not support this method. The `Allow` header lists the supported methods.
        MethodNotAllowed = "method_not_allowed",
        /// The order has already shipped and cannot be cancelled. It is unchanged.
        OrderAlreadyShipped = "order_already_shipped",
        /// A rate limit is exceeded. Wait for the time in `Retry-After`, then continue.
        RateLimitExceeded = "rate_limit_exceeded",
        /// The key kept sending requests after a 429 and is temporarily banned. Stop until the time
        /// in `Retry-After` has passed.
        KeyBanned = "key_banned",
        /// The server failed. Try again later.
        InternalError = "internal_error",
        /// The server cannot reach its data. Wait for the time in `Retry-After`.
        ServiceUnavailable = "service_unavailable",
        /// The request is not valid HTTP, its headers are too large, or it was not sent by HTTPS. A
        /// proxy in front of the service sends this. Correct the request.
        InvalidRequest = "invalid_request",
        /// The request took too long to arrive. A proxy in front of the service sends this. Send it
        /// again.
        RequestTimeout = "request_timeout",
        /// The request has a large body, but no operation takes a body. A proxy in front of the
        /// service sends this. Send no body.
        RequestTooLarge = "request_too_large",
        /// The address of the request is too long. A proxy in front of the service sends this.
        /// Shorten it.
        UriTooLong = "uri_too_long",
    }
}

extensible_enum! {
    /// `pending` orders can be cancelled; `shipped` and `cancelled` orders cannot. The status is
    /// independent of `complete` and `shipDate`. The list contains no `cancelled` orders. Statuses
    /// may be added: do not cancel an order with an unknown status.
    OrderStatus, "status" {
        /// Can be cancelled.
        Pending = "pending",
        /// Cannot be cancelled.
        Shipped = "shipped",
        /// Is cancelled, for good.
        Cancelled = "cancelled",
    }
}

impl ErrorBody {
    /// Returns the `code` as an enum.
    pub fn error_code(&self) -> ErrorCode {
        ErrorCode::from(self.code.as_str())
    }
}
