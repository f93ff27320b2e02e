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

/// The caller of an operation. `None` if no middleware stands before the handler:
/// extraction itself must not fail, because dropshot's error would replace ours.
#[derive(Debug)]
pub struct Caller(pub Option<CallerKey>);

#[async_trait]
impl ExclusiveExtractor for Caller {
    async fn from_request<Context: ServerContext>(
        _: &RequestContext<Context>,
        mut request: http::Request<Body>,
    ) -> Result<Self, HttpError> {
        Ok(Caller(request.extensions_mut().remove::<CallerKey>()))
    }

    fn metadata(_: ApiEndpointBodyContentType) -> ExtractorMetadata {
        ExtractorMetadata { parameters: Vec::new(), extension_mode: ExtensionMode::None }
    }
}
