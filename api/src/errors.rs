//! The errors that the middleware sends before any handler, and the messages of all errors.
//!
//! A message is that of the document's example, with the figures of the request.

use crate::documents::{DOCUMENTS, Document};
use crate::headers;
pub use crate::v1::{Error, ErrorCode};
use crate::v1::{ServerError, TooManyRequests};
use bytes::Bytes;
use dropshot::Body;
use http::{HeaderValue, Response, StatusCode, header};
use std::fmt::{Display, Write};
use std::sync::LazyLock;

/// The status of a code. Those that no operation has are sent before any is found, by the
/// middleware or by a proxy.
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

/// The message of an example, with these figures instead of its first ones.
pub fn message(example: &str, figures: &[&dyn Display]) -> String {
    let (mut message, mut rest) = (String::new(), example);
    for figure in figures {
        let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) else { break };
        let (before, from) = rest.split_at(start);
        message.push_str(before);
        let _ = write!(message, "{figure}");
        rest = from.trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    message + rest
}

/// The bodies of the errors whose messages have nothing of the request, with the paths of the
/// documents, encoded once: a flood of requests without a key costs nothing here.
static BODIES: LazyLock<Vec<(ErrorCode, &'static str, Bytes)>> = LazyLock::new(|| {
    let plain = [
        (ErrorCode::InternalError, ServerError::INTERNAL_ERROR_EXAMPLE),
        (ErrorCode::ServiceUnavailable, ServerError::SERVICE_UNAVAILABLE_EXAMPLE),
    ];
    let of = |document: &'static Document| {
        let path = document.path;
        let not_found =
            format!("There is no such path. The API document at {path} lists the paths.");
        let plain = plain.map(|(code, message)| (code, message.to_string())).into_iter();
        let all = plain.chain([(ErrorCode::NotFound, not_found)]);
        all.map(move |(code, message)| (code, path, encoded(code, message).into()))
    };
    DOCUMENTS.into_iter().flat_map(of).collect()
});

/// Form of the credentials in a request without a valid key, which the message of its 401
/// describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentCredentials {
    /// No `Authorization` header, and nothing else that is meant as a key.
    Nothing,
    /// An `X-API-Key` header, and no `Authorization` header.
    ApiKeyHeader,
    /// A query parameter that is named like a key, and no `Authorization` header.
    QueryParameter,
    /// The scheme `Basic`.
    Basic,
    /// No scheme, or another one.
    OtherScheme,
    /// `Bearer` without a space and a key.
    SchemeAlone,
    /// More than one `Authorization` header.
    SeveralHeaders,
    /// A key of the wrong form.
    MalformedKey,
    /// An unknown, expired or revoked key. All have one message, so that a caller with a key that
    /// it found does not learn if the key was ever valid.
    InvalidKey,
}

/// The body of a 401, with a message that needs no escapes.
macro_rules! unauthorized_body {
    ($($message:literal)*) => {
        concat!(r#"{"code":"unauthorized","message":""#, $($message,)* r#"","status":401}"#)
    };
}

impl SentCredentials {
    /// A constant: a flood of requests without a key must not make the server encode a message
    /// for each.
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
            SentCredentials::InvalidKey => unauthorized_body!(
                "This API key is not valid: it is unknown, expired or revoked. Check which key "
                "you send, or ask the operator of the service for a new one."
            ),
        }
    }
}

fn encoded(code: ErrorCode, message: String) -> Vec<u8> {
    let error = Error { code, message, status: i64::from(status(code).as_u16()) };
    serde_json::to_vec(&error).unwrap_or_default()
}

/// The response of this error. It links to what the document says of the error.
pub fn response(code: ErrorCode, message: String, document: &Document) -> Response<Body> {
    with_body(code, Body::from(encoded(code, message)), document)
}

fn with_body(code: ErrorCode, body: Body, document: &Document) -> Response<Body> {
    let status = status(code);
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    headers::link_error(code.as_str(), document, response.headers_mut());
    response
}

/// An error of [`BODIES`].
fn plain(code: ErrorCode, document: &Document) -> Response<Body> {
    let mut all = BODIES.iter();
    let found = all.find(|(of, path, _)| *of == code && *path == document.path);
    let body = found.map(|(.., body)| body.clone()).unwrap_or_default();
    with_body(code, Body::from(body), document)
}

/// 401: the request was sent with these credentials.
pub fn unauthorized(sent: SentCredentials, document: &Document) -> Response<Body> {
    let body = Bytes::from_static(sent.body().as_bytes());
    with_body(ErrorCode::Unauthorized, Body::from(body), document)
}

/// 401: the key has the form of one of the other environment, which its prefix alone tells.
pub fn key_of_other_environment(its: &str, here: &str, document: &Document) -> Response<Body> {
    let message = format!(
        "This API key is for {its}, and this is the address of {here}. Send it to the address of \
         {its}, or use a key for {here}."
    );
    response(ErrorCode::Unauthorized, message, document)
}

/// 404: no such path.
pub fn not_found(document: &Document) -> Response<Body> {
    plain(ErrorCode::NotFound, document)
}

/// 405: `allow` is what the `Allow` header says.
pub fn method_not_allowed(allow: &str, document: &Document) -> Response<Body> {
    let message = format!("This path does not support this method. It supports: {allow}.");
    response(ErrorCode::MethodNotAllowed, message, document)
}

/// 429: the limit of `limit` requests a `unit` is exceeded for `seconds` more.
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

/// 429: the key is banned for `seconds` more.
pub fn key_banned(seconds: u64, document: &Document) -> Response<Body> {
    let message = message(TooManyRequests::KEY_BANNED_EXAMPLE, &[&seconds]);
    response(ErrorCode::KeyBanned, message, document)
}

/// 500: never says what failed; the log does.
pub fn internal_error(document: &Document) -> Response<Body> {
    plain(ErrorCode::InternalError, document)
}

/// 503: the store cannot be read or written.
pub fn service_unavailable(document: &Document) -> Response<Body> {
    plain(ErrorCode::ServiceUnavailable, document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{CancelOrderError, Unauthorized};

    #[test]
    fn a_message_is_that_of_the_example_with_the_figures_of_the_request() {
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
    fn the_body_of_a_401_is_an_error_and_that_of_no_key_is_the_example() {
        let body = |sent: SentCredentials| serde_json::from_str::<Error>(sent.body()).unwrap();
        let error = body(SentCredentials::Nothing);
        assert_eq!((error.code, error.status), (ErrorCode::Unauthorized, 401));
        assert_eq!(error.message, Unauthorized::UNAUTHORIZED_EXAMPLE);
        for sent in [SentCredentials::MalformedKey, SentCredentials::InvalidKey] {
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
