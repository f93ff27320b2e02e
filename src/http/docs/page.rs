//! One public page: its bytes plain and as gzip, and the response with it.

use super::policy::Policy;
use crate::http::accept_encoding::accepts_gzip;
use bytes::Bytes;
use dropshot::Body;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::io::{Read, Write};
use std::sync::OnceLock;

/// A page. It is held in the form in which it came; the other form is made when
/// somebody first asks for it.
pub struct Page {
    content_type: HeaderValue,
    policy: Policy,
    plain: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
    hash: OnceLock<u32>,
}

impl Page {
    /// A page of these bytes.
    pub fn plain(content_type: &'static str, policy: Policy, bytes: impl Into<Bytes>) -> Page {
        let page = Page::empty(content_type, policy);
        page.plain.get_or_init(|| bytes.into());
        page
    }

    /// A page that was compressed when the program was built.
    pub fn compressed(content_type: &'static str, policy: Policy, gzip: &'static [u8]) -> Page {
        let page = Page::empty(content_type, policy);
        page.gzip.get_or_init(|| Bytes::from_static(gzip));
        page
    }

    fn empty(content_type: &'static str, policy: Policy) -> Page {
        let content_type = HeaderValue::from_static(content_type);
        let (plain, gzip, hash) = Default::default();
        Page { content_type, policy, plain, gzip, hash }
    }

    /// The response to a GET with these headers: the page, or 304 if the caller
    /// has it (RFC 9110, 13.1.2).
    pub fn answer(&self, request: &HeaderMap) -> Response<Body> {
        let zipped = accepts_gzip(request);
        let tag = self.tag(zipped);
        let mut response = if is_known(request, &tag) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let bytes = if zipped { self.as_gzip() } else { self.as_plain() };
            let mut response = Response::new(Body::from(bytes));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, self.content_type.clone());
            if zipped {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(header::ETAG, tag);
        }
        // Kept, but asked about each time: after an upgrade all parts are new.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        self.policy.stamp(headers);
        response
    }

    fn as_plain(&self) -> Bytes {
        self.plain
            .get_or_init(|| {
                let mut plain = Vec::new();
                let gzip = self.gzip.get().map(Bytes::as_ref).unwrap_or_default();
                // It was made by our build script; a test reads it.
                let _ = GzDecoder::new(gzip).read_to_end(&mut plain);
                Bytes::from(plain)
            })
            .clone()
    }

    fn as_gzip(&self) -> Bytes {
        self.gzip
            .get_or_init(|| {
                let plain = self.plain.get().map(Bytes::as_ref).unwrap_or_default();
                let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
                // Writing into memory does not fail.
                let _ = gzip.write_all(plain);
                Bytes::from(gzip.finish().unwrap_or_default())
            })
            .clone()
    }

    /// The entity tag. The two forms are two representations, so each has one.
    fn tag(&self, zipped: bool) -> String {
        let hash = self.hash.get_or_init(|| {
            let held = self.plain.get().or_else(|| self.gzip.get());
            crc32fast::hash(held.map(Bytes::as_ref).unwrap_or_default())
        });
        format!("\"{hash:08x}{}\"", if zipped { "-gzip" } else { "" })
    }
}

fn is_known(request: &HeaderMap, tag: &str) -> bool {
    let values = request.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = values.filter_map(|value| value.to_str().ok()).flat_map(|tags| tags.split(','));
    tags.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}
