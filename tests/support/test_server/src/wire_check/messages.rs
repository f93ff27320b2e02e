//! Requests and responses, reduced to what the document describes.

use http::HeaderMap;

/// A request without its body; no operation accepts a body.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The names of the headers, in lower case. The values are omitted, because they may be secret.
    pub header_names: Vec<String>,
}

impl SentRequest {
    /// Creates a request with these headers.
    pub fn new<'a>(
        method: &str,
        target: &str,
        header_names: impl IntoIterator<Item = &'a str>,
    ) -> SentRequest {
        SentRequest {
            method: method.to_string(),
            target: target.to_string(),
            header_names: header_names.into_iter().map(str::to_lowercase).collect(),
        }
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The names of the query parameters.
    pub fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').map(|pair| pair.split('=').next().unwrap_or_default())
    }
}

/// A response as it was received.
#[derive(Clone, Debug)]
pub struct ReceivedResponse {
    /// The HTTP status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, compressed if the response was.
    pub body: Vec<u8>,
}

/// A request and its response.
pub type Exchange = (SentRequest, ReceivedResponse);
