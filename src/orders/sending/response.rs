//! A snapshot, or a part of one, as a response: plain, or gzip where the caller takes it.

use super::body::ListBody;
use super::readers::Readers;
use crate::orders::snapshot::Snapshot;
use dropshot::Body;
use http::{HeaderValue, Response, header};
use std::sync::Arc;
use tokio::task::JoinError;

/// Shorter bodies are not compressed: they fit into one TCP segment.
const MIN_GZIP_BYTES: usize = 1_024;

/// 200 with the whole list, as gzip if the client accepts it and it pays.
pub fn list_response(
    list: Arc<Snapshot>,
    readers: &Arc<Readers>,
    accepts_gzip: bool,
) -> Response<Body> {
    readers.enforce();
    let zipped = accepts_gzip && list.length() >= MIN_GZIP_BYTES;
    let begin = || readers.begin(&list);
    let in_one_turn = || list.length() <= list.sizes().turn_bytes || !readers.is_scarce();
    let body = match list.joined_bytes() {
        _ if zipped => Body::wrap(ListBody::gzip(&list, begin())),
        Some(bytes) if in_one_turn() => Body::from(bytes),
        _ => Body::wrap(ListBody::plain(&list, begin())),
    };
    json_response(body, zipped)
}

/// 200 with this part of a list, as JSON, as gzip if the client accepts it and it pays.
pub async fn part_response(
    json: Vec<u8>,
    readers: &Readers,
    accepts_gzip: bool,
) -> Result<Response<Body>, JoinError> {
    let zipped = accepts_gzip && json.len() >= MIN_GZIP_BYTES;
    let bytes = if zipped { readers.zip(json).await? } else { readers.hold(json) };
    Ok(json_response(Body::from(bytes), zipped))
}

fn json_response(body: Body, zipped: bool) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if zipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
