//! Builds JSON responses, the middleware's own responses, and responses to HEAD.

use crate::orders::{Payload, PayloadBody};
use dropshot::Body;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::Body as _;
use store_orders_api::documents::Document;
use store_orders_api::errors;

/// Builds a 405 with one `Allow` header (RFC 9110, 15.5.6).
pub fn method_not_allowed(allow: &str, document: &Document) -> Response<Body> {
    let mut response = errors::method_not_allowed(allow, document);
    if let Ok(allow) = HeaderValue::try_from(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// Builds a 200 response with this JSON.
pub fn json_body(json: Vec<u8>) -> Response<Body> {
    json_response(Body::from(json))
}

/// Builds a 200 response with a list or a part of it, plain or as gzip.
pub fn json_payload(Payload { body, is_gzip }: Payload) -> Response<Body> {
    let mut response = json_response(match body {
        PayloadBody::Whole(bytes) => Body::from(bytes),
        PayloadBody::Pieces(pieces) => Body::wrap(pieces),
    });
    if is_gzip {
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
    }
    response
}

fn json_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    // Room for all headers of a response, so that the map never grows.
    response.headers_mut().reserve(12);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Builds a 308 to another path.
pub fn moved_permanently(path: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(path));
    response
}

/// Converts the response to GET into the response to HEAD: drops the body but keeps its length
/// (RFC 9110, 9.3.2). Over HTTP/2 a body would be a protocol error. 204 and 304 have no
/// `Content-Length`.
pub fn without_body(mut response: Response<Body>) -> Response<Body> {
    let has_no_length =
        matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let length = response.body().size_hint().exact().filter(|_| !has_no_length);
    if let Some(length) = length {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.map(|_| Body::empty())
}
