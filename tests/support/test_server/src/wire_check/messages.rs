//! Requests and responses, reduced to what the document describes.

use http::HeaderMap;

/// A request. It has no body, because no operation accepts one.
#[derive(Clone, Debug)]
pub struct SentRequest {
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The names of the headers, in lower case. The values are omitted, because they may be secret.
    pub header_names: Vec<String>,
}

impl SentRequest {
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

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query_parameters(&self) -> impl Iterator<Item = &str> {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('&').map(|pair| pair.split('=').next().unwrap_or_default())
    }
}

#[derive(Clone, Debug)]
pub struct ReceivedResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body. It is still compressed if the server compressed it.
    pub body: Vec<u8>,
}

pub type Exchange = (SentRequest, ReceivedResponse);
