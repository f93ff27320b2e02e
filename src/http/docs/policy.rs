//! Sets the security headers of public pages.

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Selects a page's Content-Security-Policy, which lists the resources that the page may load.
#[derive(Clone, Copy, Debug)]
pub enum Policy {
    /// A reference page may load scripts, styles, images, fonts and data from its own server.
    Reference,
    /// A text page may load scripts, styles and images from its own server.
    Text,
    /// An asset loads nothing.
    Asset,
    /// The API document loads nothing. Scripts of any site may read it.
    Document,
}

// Scalar computes inline styles at run time, so the policy cannot list the hashes of these styles.
// It must allow 'unsafe-inline' instead. Styles run no code, and the policy lets them load nothing
// from other servers.
const REFERENCE: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self'; font-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TEXT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ASSET: &str = "default-src 'none'; frame-ancestors 'none'";

impl Policy {
    pub fn set_headers(self, headers: &mut HeaderMap) {
        let content = match self {
            Policy::Reference => REFERENCE,
            Policy::Text => TEXT,
            Policy::Asset | Policy::Document => ASSET,
        };
        let values: [(HeaderName, &'static str); 4] = [
            (header::CONTENT_SECURITY_POLICY, content),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_FRAME_OPTIONS, "DENY"),
        ];
        for (name, value) in values {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if matches!(self, Policy::Document) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
    }
}
