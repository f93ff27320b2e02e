//! The response headers of the contract: names, and descriptions for the
//! document.

use crate::documents::Document;
use http::{HeaderName, StatusCode};

/// The type of a header's value, as the document declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderType {
    /// A whole number that is not negative.
    Count,
    /// Whole seconds, at least 1.
    Seconds,
    /// A whole number of 64 bits: seconds since the Unix epoch.
    UnixSeconds,
    /// A UUID.
    Uuid,
    /// Text.
    Text,
}

/// A response header of the contract.
#[derive(Debug)]
pub struct Header {
    /// The name in the document. Header names are case-insensitive (RFC 9110,
    /// 5.1).
    pub name: &'static str,
    /// The name as sent over the wire.
    pub wire: HeaderName,
    /// The type of the value.
    pub kind: HeaderType,
    /// What the value means.
    pub meaning: &'static str,
    /// An example of a value.
    pub example: &'static str,
}

/// The request limit in force.
pub static LIMIT: Header = Header {
    name: "X-RateLimit-Limit",
    wire: HeaderName::from_static("x-ratelimit-limit"),
    kind: HeaderType::Count,
    meaning: "The request limit in force: that of the window (minute or day) with fewer requests \
              remaining. On a 429, that of the exhausted window that resets last.",
    example: "300",
};

/// Requests remaining in the current window.
pub static REMAINING: Header = Header {
    name: "X-RateLimit-Remaining",
    wire: HeaderName::from_static("x-ratelimit-remaining"),
    kind: HeaderType::Count,
    meaning: "Requests remaining in the current window of that limit.",
    example: "299",
};

/// Unix timestamp at which the limit resets.
pub static RESET: Header = Header {
    name: "X-RateLimit-Reset",
    wire: HeaderName::from_static("x-ratelimit-reset"),
    kind: HeaderType::UnixSeconds,
    meaning: "Unix timestamp in seconds at which that limit resets, rounded up.",
    example: "1796083260",
};

/// How long to wait before the next request.
pub static RETRY_AFTER: Header = Header {
    name: "Retry-After",
    wire: http::header::RETRY_AFTER,
    kind: HeaderType::Seconds,
    meaning: "Whole seconds to wait before the next request, at least 1. A client that waits \
              this long is admitted.",
    example: "60",
};

/// The identifier of the request.
pub static REQUEST_ID: Header = Header {
    name: "x-request-id",
    wire: HeaderName::from_static("x-request-id"),
    kind: HeaderType::Uuid,
    meaning: "Identifies this request in the server's log. Quote it when you report a problem.",
    example: "5a2bd2f9-1c8e-4c5b-9a38-5d7f0f6c2e11",
};

/// The challenge of a 401.
pub static WWW_AUTHENTICATE: Header = Header {
    name: "WWW-Authenticate",
    wire: http::header::WWW_AUTHENTICATE,
    kind: HeaderType::Text,
    meaning: "The challenge of RFC 6750, with `error=\"invalid_token\"` where a key was sent.",
    example: "Bearer realm=\"store-orders\", error=\"invalid_token\"",
};

/// When the operation was deprecated.
pub static DEPRECATION: Header = Header {
    name: "Deprecation",
    wire: HeaderName::from_static("deprecation"),
    kind: HeaderType::Text,
    meaning: "When the operation was deprecated, as `@` and a Unix timestamp (RFC 9745).",
    example: PET_DEPRECATION,
};

/// When the operation may be removed.
pub static SUNSET: Header = Header {
    name: "Sunset",
    wire: HeaderName::from_static("sunset"),
    kind: HeaderType::Text,
    meaning: "The time after which the operation may be removed, as an HTTP date (RFC 8594).",
    example: PET_SUNSET,
};

/// Where to read on: [`error_link`] and [`PET_LINK`].
pub static LINK: Header = Header {
    name: "Link",
    wire: http::header::LINK,
    kind: HeaderType::Text,
    meaning: "Where to read on (RFC 8288). On 401 and 404, what the API reference says of the \
              error, and this document, with the relations of RFC 8631; on every response of a deprecated operation, the \
              changelog, which announces it, with that of RFC 9745.",
    example: "</docs#error-unauthorized>; rel=\"service-doc\", </openapi.json>; \
              rel=\"service-desc\"",
};

/// [`LINK`] of a version without a deprecated operation.
pub static ERROR_LINK: Header = Header {
    name: "Link",
    wire: http::header::LINK,
    kind: HeaderType::Text,
    meaning: "Where to read on (RFC 8288): what the API reference says of the error, and this \
              document, with the relations of RFC 8631.",
    example: "</docs#error-unauthorized>; rel=\"service-doc\", </openapi-v2.json>; \
              rel=\"service-desc\"",
};

/// The next page of a list.
pub static NEXT_PAGE: Header = Header {
    name: "Link",
    wire: http::header::LINK,
    kind: HeaderType::Text,
    meaning: "The next page (RFC 8288), relative to the address of the request, with its `limit` \
              and filters. Absent on the last page.",
    example: "<?cursor=AQAAAAAAAAQTAAAAAG4zMEM&limit=100>; rel=\"next\"",
};

/// A cursor of the examples.
pub const EXAMPLE_CURSOR: &str = "AQAAAAAAAAQTAAAAAG4zMEM";

/// Deprecated since 2026-12-01, midnight UTC (RFC 9745).
pub const PET_DEPRECATION: &str = "@1796083200";

/// May be removed after 2027-12-01, midnight UTC (RFC 8594).
pub const PET_SUNSET: &str = "Wed, 01 Dec 2027 00:00:00 GMT";

/// Where a deprecation is announced, relative to the server.
pub const PET_LINK: &str = "</changelog>; rel=\"deprecation\"";

/// Where to read on about an error: in the API reference, at the address of its code, and in
/// the document, relative to the server. Only a client without a valid key, or with a wrong
/// address, has to be told: [`is_linked`].
pub fn error_link(code: &str, document: &Document) -> String {
    let path = document.path;
    format!("</docs#error-{code}>; rel=\"service-doc\", <{path}>; rel=\"service-desc\"")
}

/// Whether every response of this status has a `Link`: 401 and 404.
pub const fn is_linked(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND)
}

/// On every response of every operation: the limits (specification, Limits)
/// and the identifier of the request.
pub static ON_EVERY_RESPONSE: [&Header; 4] = [&LIMIT, &REMAINING, &RESET, &REQUEST_ID];

/// Additionally on every response of a deprecated operation, next to [`LINK`].
pub static ON_DEPRECATED: [&Header; 2] = [&DEPRECATION, &SUNSET];
