//! What stands outside `/v1`: without a key, and uncounted.

use crate::front_door::method_not_allowed;
use crate::server::App;
use dropshot::{Body, RequestInfo};
use http::{HeaderValue, Method, Response, header};

/// The page behind this request, or why it is not to be had; none if the path is
/// no public page.
pub fn find(app: &App, request: &RequestInfo) -> Option<Response<Body>> {
    let (content, kind) = match request.uri().path() {
        "/openapi.json" => (app.document.clone(), "application/json"),
        "/changelog" => (
            bytes::Bytes::from_static(include_bytes!("../CHANGELOG.md")),
            "text/markdown; charset=utf-8",
        ),
        _ => return None,
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Some(method_not_allowed("GET, HEAD".to_string()));
    }
    let mut response = Response::new(Body::from(content));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Some(response)
}
