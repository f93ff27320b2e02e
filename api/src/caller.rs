//! The key that a request was authenticated with, on its way to a handler.
//!
//! The middleware puts it into the request's extensions, a handler takes it as
//! an extractor. It is no parameter of the document.

use async_trait::async_trait;
use dropshot::{
    ApiEndpointBodyContentType, Body, ExclusiveExtractor, ExtensionMode, ExtractorMetadata,
    HttpError, RequestContext, ServerContext,
};
use std::sync::Arc;
use std::time::Instant;

/// The valid key that the request was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerKey {
    /// `key_…`.
    pub id: Arc<str>,
    /// The number of its account.
    pub account: i64,
    /// When the request must have been answered.
    pub deadline: Instant,
}

/// The caller of an operation, and the body that it sent: dropshot reads a request with one
/// exclusive extractor, so this one wraps that of the body, such as `TypedBody<T>`.
///
/// Extraction itself never fails, because dropshot's error would replace ours. The metadata
/// is that of `B`.
#[derive(Debug)]
pub struct Caller<B = NoBody> {
    /// `None` if no middleware stands before the handler.
    pub key: Option<CallerKey>,
    /// The body, or why it is invalid.
    pub body: Result<B, HttpError>,
}

#[async_trait]
impl<B: ExclusiveExtractor> ExclusiveExtractor for Caller<B> {
    async fn from_request<Context: ServerContext>(
        context: &RequestContext<Context>,
        mut request: http::Request<Body>,
    ) -> Result<Self, HttpError> {
        let key = request.extensions_mut().remove::<CallerKey>();
        Ok(Caller { key, body: B::from_request(context, request).await })
    }

    fn metadata(body: ApiEndpointBodyContentType) -> ExtractorMetadata {
        B::metadata(body)
    }
}

/// An operation takes no body. What is sent nevertheless is not read.
#[derive(Debug)]
pub struct NoBody;

#[async_trait]
impl ExclusiveExtractor for NoBody {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
        _: http::Request<Body>,
    ) -> Result<Self, HttpError> {
        Ok(NoBody)
    }

    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata { parameters: Vec::new(), extension_mode: ExtensionMode::None }
    }
}
