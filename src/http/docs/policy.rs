//! What a browser may do with a page: the Content-Security-Policy and its kin.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// What a public page may load.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// The reference: its own scripts, styles and images, and requests to the
    /// server that it came from.
    Reference,
    /// Text with our style sheet.
    Text,
    /// Nothing: it is no page, but what pages or programs load.
    Asset,
}

// 'unsafe-inline' for styles alone: Scalar puts its style sheet and its themes
// into <style> elements that it makes at run time, with colours computed from
// the configuration, so no hash can name them. Styles run no code, and nothing
// that they could load is let through. Scripts come from files only.
const REFERENCE: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self'; font-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TEXT: &str = "default-src 'none'; style-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ASSET: &str = "default-src 'none'; frame-ancestors 'none'";

impl Policy {
    /// Sets the headers.
    pub fn stamp(self, headers: &mut HeaderMap) {
        let content = match self {
            Policy::Reference => REFERENCE,
            Policy::Text => TEXT,
            Policy::Asset => ASSET,
        };
        let all: [(HeaderName, &'static str); 4] = [
            (header::CONTENT_SECURITY_POLICY, content),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        for (name, value) in all {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
