//! A request and its response, as far as the document speaks of them.

use http::HeaderMap;

/// A request, without its body: no operation takes one.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// The method as it was sent.
    pub method: String,
    /// The path with its query.
    pub target: String,
}

/// A response.
#[derive(Debug)]
pub struct ReceivedResponse {
    /// The status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body as it came, compressed or not.
    pub body: Vec<u8>,
}
