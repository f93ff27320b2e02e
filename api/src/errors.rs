//! The error responses that the middleware sends itself, and the messages of errors.
//!
//! Some messages are examples from the document. [`message`] replaces the numbers in such an
//! example with the real ones. The other messages are written in this module.

use crate::documents::{DOCUMENTS, Document, V1};
use crate::headers;
pub use crate::v1::{Error, ErrorCode};
use crate::v1::{ServerError, TooManyRequests};
use bytes::Bytes;
use dropshot::Body;
use http::{HeaderValue, Response, StatusCode, header};
use std::fmt::{Display, Write};
use std::sync::LazyLock;

/// Returns the status of a code. The `match` names the codes that no operation returns.
pub fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::InvalidRequest => StatusCode::BAD_REQUEST,
        ErrorCode::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::RequestTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UriTooLong => StatusCode::URI_TOO_LONG,
        code => code.status().unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Replaces the numbers in `example` with `numbers`, in order. `example` is a message from the
/// document.
pub fn message(example: &str, numbers: &[&dyn Display]) -> String {
    let (mut message, mut rest) = (String::new(), example);
    for number in numbers {
        let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) else { break };
        let (before, from) = rest.split_at(start);
        message.push_str(before);
        let _ = write!(message, "{number}");
        rest = from.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    message + rest
}

/// Encoded bodies of errors, by error code and path of the document. Encoding each body once keeps
/// 503s cheap while the store does not answer.
static BODIES: LazyLock<Vec<(ErrorCode, &'static str, Bytes)>> = LazyLock::new(|| {
    let plain = [
        (ErrorCode::InternalError, ServerError::INTERNAL_ERROR_EXAMPLE),
        (ErrorCode::ServiceUnavailable, ServerError::SERVICE_UNAVAILABLE_EXAMPLE),
    ];
    let bodies = |document: &'static Document| {
        let path = document.path;
        let not_found =
            format!("There is no such path. The API document at {path} lists the paths.");
        let plain = plain.map(|(code, message)| (code, message.to_string())).into_iter();
        let all = plain.chain([(ErrorCode::NotFound, not_found)]);
        all.map(move |(code, message)| (code, path, encode(code, message).into()))
    };
    DOCUMENTS.into_iter().flat_map(bodies).collect()
});

/// The encoded body of a 404 for a path outside all versions.
static OUTSIDE_VERSIONS: LazyLock<Bytes> = LazyLock::new(|| {
    let base_paths = DOCUMENTS.map(|document| document.base_path).join(" or ");
    let message = format!(
        "There is no such path. Paths begin with {base_paths}. The API document at {} lists the \
         paths.",
        V1.path
    );
    encode(ErrorCode::NotFound, message).into()
});

/// The kind of credentials in a request without a valid key. The kind selects the message of the
/// 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentCredentials {
    /// No `Authorization` header, no `X-API-Key` header, and no query parameter that is named
    /// `api_key` or similarly.
    Nothing,
    /// An `X-API-Key` header instead of an `Authorization` header.
    ApiKeyHeader,
    /// A query parameter that is named `api_key` or similarly, instead of an `Authorization`
    /// header.
    QueryParameter,
    Basic,
    /// A scheme other than `Bearer` and `Basic`, or a value without a scheme.
    OtherScheme,
    /// `Bearer` that is not followed by a space and a key.
    SchemeAlone,
    SeveralHeaders,
    /// The text after `Bearer` does not have the form of a key.
    MalformedKey,
    /// A key of the right form whose check digits do not match the rest of it.
    WrongCheckDigits,
    /// An unknown, expired or revoked key. All three get the same message. A different message
    /// would reveal that the key was once valid.
    InvalidKey,
}

/// Expands to the body of a 401. The message must not contain characters that JSON escapes.
macro_rules! unauthorized_body {
    ($($message:literal)*) => {
        concat!(r#"{"code":"unauthorized","message":""#, $($message,)* r#"","status":401}"#)
    };
}

impl SentCredentials {
    /// Returns a constant, so that a flood of requests without a key costs no encoding.
    const fn body(self) -> &'static str {
        match self {
            SentCredentials::Nothing => unauthorized_body!(
                "The request has no Authorization header. Send your key as Authorization: Bearer "
                "<API_KEY>."
            ),
            SentCredentials::ApiKeyHeader => unauthorized_body!(
                "The request has no Authorization header, and X-API-Key is not read. Send your key "
                "as Authorization: Bearer <API_KEY>."
            ),
            SentCredentials::QueryParameter => unauthorized_body!(
                "The request has no Authorization header, and a key in the query string is not "
                "read. Send your key as Authorization: Bearer <API_KEY>."
            ),
            SentCredentials::Basic => unauthorized_body!(
                "The Authorization header has the scheme Basic. Use the scheme Bearer: "
                "Authorization: Bearer <API_KEY>."
            ),
            SentCredentials::OtherScheme => unauthorized_body!(
                "The Authorization header does not begin with the scheme Bearer. Send your key as "
                "Authorization: Bearer <API_KEY>."
            ),
            SentCredentials::SchemeAlone => unauthorized_body!(
                "The Authorization header has no key after Bearer and a space. Send your key as "
                "Authorization: Bearer <API_KEY>."
            ),
            SentCredentials::SeveralHeaders => unauthorized_body!(
                "The request has more than one Authorization header. Send one: Authorization: "
                "Bearer <API_KEY>."
            ),
            SentCredentials::MalformedKey => unauthorized_body!(
                "The text after Bearer is not an API key: sto_live_ or sto_test_, then 36 letters "
                "and digits. It is incomplete or mistyped. Send the whole key."
            ),
            SentCredentials::WrongCheckDigits => unauthorized_body!(
                "The check digits at the end of this API key do not match the rest of it, so at "
                "least one character is wrong. Send the key exactly as it was issued."
            ),
            SentCredentials::InvalidKey => unauthorized_body!(
                "This API key is not valid: it is unknown, expired or revoked. Check which key "
                "you send, or ask the operator of the service for a new one."
            ),
        }
    }
}

fn encode(code: ErrorCode, message: String) -> Vec<u8> {
    let error = Error { code, message, status: i64::from(status(code).as_u16()) };
    serde_json::to_vec(&error).unwrap_or_default()
}

/// Returns the response of an error, with links to its documentation.
pub fn response(code: ErrorCode, message: String, document: &Document) -> Response<Body> {
    with_body(code, Body::from(encode(code, message)), document)
}

fn with_body(code: ErrorCode, body: Body, document: &Document) -> Response<Body> {
    let status = status(code);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    // Room for all headers of an error, so that the map never grows.
    response.headers_mut().reserve(12);
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    headers::link_error(code.as_str(), document, response.headers_mut());
    response
}

/// Returns the response for an error whose body is in [`BODIES`].
fn plain(code: ErrorCode, document: &Document) -> Response<Body> {
    let mut all = BODIES.iter();
    let entry = all.find(|(other, path, _)| *other == code && *path == document.path);
    let body = entry.map(|(.., body)| body.clone()).unwrap_or_default();
    with_body(code, Body::from(body), document)
}

/// 401, with a message about the credentials that were sent.
pub fn unauthorized(sent: SentCredentials, document: &Document) -> Response<Body> {
    let body = Bytes::from_static(sent.body().as_bytes());
    with_body(ErrorCode::Unauthorized, Body::from(body), document)
}

/// 401: the key's prefix names the environment `key`, but this server's environment is `server`.
pub fn key_of_other_environment(key: &str, server: &str, document: &Document) -> Response<Body> {
    let message = format!(
        "This API key is for {key}, and this is the address of {server}. Send it to the address of \
         {key}, or use a key for {server}."
    );
    response(ErrorCode::Unauthorized, message, document)
}

/// 404: no such path in this version.
pub fn not_found(document: &Document) -> Response<Body> {
    plain(ErrorCode::NotFound, document)
}

/// 404: the path is outside all versions.
pub fn outside_versions() -> Response<Body> {
    with_body(ErrorCode::NotFound, Body::from(OUTSIDE_VERSIONS.clone()), &V1)
}

/// Returns a 404 for a path that exists only without the slash at its end.
pub fn slash_at_end(document: &Document) -> Response<Body> {
    let message = "There is no such path: it has a slash at its end; leave it out.";
    response(ErrorCode::NotFound, message.to_string(), document)
}

/// Returns a 405. `later` names an operation of a later version that supports the method on this
/// path.
pub fn method_not_allowed(allow: &str, later: Option<&str>, document: &Document) -> Response<Body> {
    let mut message = format!("This path does not support this method. It supports: {allow}.");
    if let Some(later) = later {
        let _ = write!(message, " A later version has the method: {later}.");
    }
    let mut response = response(ErrorCode::MethodNotAllowed, message, document);
    if let Ok(allow) = HeaderValue::try_from(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Builds the 429 response for an exhausted limit of `limit` requests per `unit`. The limit stays
/// exhausted for `seconds` more.
pub fn rate_limit_exceeded(
    limit: u32,
    unit: &str,
    seconds: u64,
    document: &Document,
) -> Response<Body> {
    let example = TooManyRequests::RATE_LIMIT_EXCEEDED_EXAMPLE;
    let message = message(example, &[&limit, &seconds]).replace("minute", unit);
    response(ErrorCode::RateLimitExceeded, message, document)
}

/// Builds the 429 response for a banned key. `seconds` is the time until the ban ends.
pub fn key_banned(seconds: u64, document: &Document) -> Response<Body> {
    let message = message(TooManyRequests::KEY_BANNED_EXAMPLE, &[&seconds]);
    response(ErrorCode::KeyBanned, message, document)
}

/// Builds the 500 response. The cause of the error is only in the log.
pub fn internal_error(document: &Document) -> Response<Body> {
    plain(ErrorCode::InternalError, document)
}

/// 503: the server cannot process the request now, for example because the store does not answer.
pub fn service_unavailable(document: &Document) -> Response<Body> {
    plain(ErrorCode::ServiceUnavailable, document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{CancelOrderError, Unauthorized};

    #[test]
    fn a_message_is_the_example_with_the_numbers_of_the_request() {
        assert_eq!(
            message(CancelOrderError::ORDER_NOT_FOUND_EXAMPLE, &[&-7]),
            "There is no order -7, or it is already cancelled."
        );
        assert_eq!(
            message(TooManyRequests::RATE_LIMIT_EXCEEDED_EXAMPLE, &[&60, &1]),
            "The limit of 60 requests a minute is exhausted. Wait 1 s before the next request."
        );
        let banned = message(TooManyRequests::KEY_BANNED_EXAMPLE, &[&42]);
        assert!(banned.starts_with("This key is banned for 42 s more"), "{banned}");
        assert!(banned.ends_with("after a 429."), "{banned}");
    }

    #[test]
    fn a_401_body_is_an_error_and_without_a_key_the_example() {
        let body = |sent: SentCredentials| serde_json::from_str::<Error>(sent.body()).unwrap();
        let error = body(SentCredentials::Nothing);
        assert_eq!((error.code, error.status), (ErrorCode::Unauthorized, 401));
        assert_eq!(error.message, Unauthorized::UNAUTHORIZED_EXAMPLE);
        for sent in [
            SentCredentials::MalformedKey,
            SentCredentials::WrongCheckDigits,
            SentCredentials::InvalidKey,
        ] {
            assert_eq!(body(sent).status, 401);
        }
    }

    #[test]
    fn every_code_has_a_status() {
        for (text, code) in ErrorCode::VALUES {
            assert!(status(*code).is_client_error() || status(*code).is_server_error(), "{text}");
        }
        assert_eq!(status(ErrorCode::InternalError), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(ErrorCode::InternalError.status(), Some(StatusCode::INTERNAL_SERVER_ERROR));
    }
}
