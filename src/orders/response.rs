//! A snapshot as a response: plain, or gzip where the caller takes it.

use super::body::ListBody;
use super::readers::Readers;
use super::snapshot::Snapshot;
use dropshot::Body;
use http::{HeaderValue, Response, header};
use std::sync::Arc;

/// A list that fits into one TCP segment is not compressed: that would save nothing.
const SEGMENT_BYTES: usize = 1_400;

/// 200 with the whole list, as gzip if the client accepts it and it pays.
pub fn list_response(
    list: Arc<Snapshot>,
    readers: &Arc<Readers>,
    accepts_gzip: bool,
) -> Response<Body> {
    readers.enforce();
    let zipped = accepts_gzip && list.length() > SEGMENT_BYTES;
    let begin = || readers.begin(Arc::clone(&list));
    let in_one_turn = || list.length() <= list.sizes().turn_bytes || !readers.is_scarce();
    let body = match list.joined_bytes() {
        _ if zipped => Body::wrap(ListBody::gzip(&list, begin())),
        Some(bytes) if in_one_turn() => Body::from(bytes),
        _ => Body::wrap(ListBody::plain(&list, begin())),
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
