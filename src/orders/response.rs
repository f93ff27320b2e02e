//! A snapshot as a response: plain, or gzip where the caller takes it.

use super::gzip::SHORT_LIST;
use super::pages::Snapshot;
use super::stream::{Arrivals, GzipBody, PlainBody};
use dropshot::Body;
use http::{HeaderValue, Response, header};
use std::sync::Arc;

/// 200 with the whole list, as gzip if the client accepts it and it pays.
pub fn list_response(
    list: Arc<Snapshot>,
    accepts_gzip: bool,
    arrivals: &Arc<Arrivals>,
) -> Response<Body> {
    let zipped = list.length() > SHORT_LIST && accepts_gzip;
    let body = if zipped {
        Body::wrap(GzipBody::new(list))
    } else {
        Body::wrap(PlainBody::new(list, Arc::clone(arrivals)))
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if zipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
