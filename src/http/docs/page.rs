//! Serves a public page, plain or as gzip, and lets clients revalidate it with an entity tag.

use super::policy::Policy;
use crate::http::negotiation::{accepts_gzip, field_matches_tag};
use bytes::Bytes;
use dropshot::Body;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::io::{Read, Write};
use std::sync::OnceLock;

/// A public page. Each constructor sets the plain form or the gzip form. The missing form is
/// computed at its first use.
#[derive(Clone)]
pub struct ServedPage {
    content_type: HeaderValue,
    pub policy: Policy,
    plain: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
    hash: OnceLock<u32>,
}

impl ServedPage {
    pub fn plain(
        content_type: &'static str,
        policy: Policy,
        bytes: impl Into<Bytes>,
    ) -> ServedPage {
        let page = ServedPage::empty(content_type, policy);
        page.plain.get_or_init(|| bytes.into());
        page
    }

    /// Creates a page from gzip bytes, which the build script has compressed.
    pub fn from_gzip(
        content_type: &'static str,
        policy: Policy,
        gzip: &'static [u8],
    ) -> ServedPage {
        let page = ServedPage::empty(content_type, policy);
        page.gzip.get_or_init(|| Bytes::from_static(gzip));
        page
    }

    fn empty(content_type: &'static str, policy: Policy) -> ServedPage {
        ServedPage {
            content_type: HeaderValue::from_static(content_type),
            policy,
            plain: OnceLock::new(),
            gzip: OnceLock::new(),
            hash: OnceLock::new(),
        }
    }

    /// Returns the page, or a 304 if the client already has it (RFC 9110, 13.1.2).
    pub fn respond(&self, request: &HeaderMap) -> Response<Body> {
        let is_gzip = accepts_gzip(request);
        let tag = self.tag(is_gzip);
        let matches =
            |value: &HeaderValue| value.to_str().is_ok_and(|sent| field_matches_tag(sent, &tag));
        let mut response = if request.get_all(header::IF_NONE_MATCH).iter().any(matches) {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let bytes = if is_gzip { self.as_gzip() } else { self.as_plain() };
            let mut response = Response::new(Body::from(bytes));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, self.content_type.clone());
            if is_gzip {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let headers = response.headers_mut();
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(header::ETAG, tag);
        }
        // Make clients revalidate pages and assets at each use. Otherwise, a browser could combine
        // a new page with old assets after an upgrade.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        self.policy.set_headers(headers);
        response
    }

    fn as_plain(&self) -> Bytes {
        self.plain
            .get_or_init(|| {
                let mut plain = Vec::new();
                let gzip = self.gzip.get().map(Bytes::as_ref).unwrap_or_default();
                // Decoding cannot fail: the build script compressed these bytes, and a test decodes
                // them.
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
                // Writing to memory cannot fail.
                let _ = gzip.write_all(plain);
                Bytes::from(gzip.finish().unwrap_or_default())
            })
            .clone()
    }

    /// Returns the entity tag. The plain page and the gzip page are different representations, so
    /// their tags differ.
    fn tag(&self, is_gzip: bool) -> String {
        let hash = self.hash.get_or_init(|| {
            let content = self.plain.get().or_else(|| self.gzip.get());
            crc32fast::hash(content.map(Bytes::as_ref).unwrap_or_default())
        });
        format!("\"{hash:08x}{}\"", if is_gzip { "-gzip" } else { "" })
    }
}
