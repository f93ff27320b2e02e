//! The API's error codes.

use crate::generated::types;
use std::fmt;

/// The `code` of an error response.
///
/// The API may add codes: [`Other`](Self::Other) holds those that this version
/// of the client does not know. Treat them by their status.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A path parameter is malformed (400).
    InvalidParameter,
    /// The key is missing or invalid (401).
    Unauthorized,
    /// There is no such order, or it is already cancelled (404).
    OrderNotFound,
    /// There is no such pet (404).
    PetNotFound,
    /// There is no such path: check the base URL (404).
    NotFound,
    /// The path exists, but not with this method (405).
    MethodNotAllowed,
    /// The order has already shipped and cannot be cancelled (409).
    OrderAlreadyShipped,
    /// A rate limit is exceeded: wait as long as `Retry-After` says (429).
    RateLimitExceeded,
    /// The key is banned for a while because it kept sending after a 429 (429).
    KeyBanned,
    /// A fault of the server: try again later (500).
    InternalError,
    /// The server cannot reach its data (503).
    ServiceUnavailable,
    /// A code that this version of the client does not know.
    Other(String),
}

/// Each known code with its spelling, for both directions.
const KNOWN: [(ErrorCode, &str); 11] = [
    (ErrorCode::InvalidParameter, "invalid_parameter"),
    (ErrorCode::Unauthorized, "unauthorized"),
    (ErrorCode::OrderNotFound, "order_not_found"),
    (ErrorCode::PetNotFound, "pet_not_found"),
    (ErrorCode::NotFound, "not_found"),
    (ErrorCode::MethodNotAllowed, "method_not_allowed"),
    (ErrorCode::OrderAlreadyShipped, "order_already_shipped"),
    (ErrorCode::RateLimitExceeded, "rate_limit_exceeded"),
    (ErrorCode::KeyBanned, "key_banned"),
    (ErrorCode::InternalError, "internal_error"),
    (ErrorCode::ServiceUnavailable, "service_unavailable"),
];

impl ErrorCode {
    /// The code as it is sent.
    pub fn as_str(&self) -> &str {
        match self {
            ErrorCode::Other(code) => code,
            known => KNOWN.iter().find(|(code, _)| code == known).map_or("", |(_, text)| text),
        }
    }
}

impl From<&str> for ErrorCode {
    fn from(text: &str) -> Self {
        KNOWN
            .iter()
            .find(|(_, known)| *known == text)
            .map_or_else(|| ErrorCode::Other(text.to_string()), |(code, _)| code.clone())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl types::Error {
    /// The `code`, to match on.
    pub fn error_code(&self) -> ErrorCode {
        ErrorCode::from(self.code.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        for (code, text) in &KNOWN {
            assert_eq!(ErrorCode::from(*text), *code);
            assert_eq!(code.to_string(), *text);
        }
        let new = ErrorCode::from("order_frozen");
        assert_eq!(new, ErrorCode::Other("order_frozen".to_string()));
        assert_eq!(new.to_string(), "order_frozen");
    }
}
