//! The public pages outside `/v1`: document, reference, changelog. They need no key
//! and count against no limit. All are embedded in the program, and no page loads
//! anything from another server.

mod changelog;
mod page;
mod policy;
mod served_document;

pub use served_document::served_document;

use super::responses::method_not_allowed;
use bytes::Bytes;
use dropshot::{Body, RequestInfo};
use http::{Method, Response};
use page::Page;
use policy::Policy;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The pages and their assets.
pub struct Docs {
    document: Page,
    docs: Page,
    docs_script: Page,
    scalar: Page,
    style: Page,
    changelog: Page,
    icon: Page,
}

impl Docs {
    /// The pages for this document.
    pub fn new(document: impl Into<Bytes>) -> Docs {
        let docs = include_str!("docs/assets/docs.html");
        let script = include_str!("docs/assets/docs.js");
        let scalar = include_bytes!(concat!(env!("OUT_DIR"), "/scalar.js.gz"));
        let style = include_str!("docs/assets/pages.css");
        let icon = include_str!("docs/assets/favicon.svg");
        Docs {
            document: Page::plain("application/json", Policy::Asset, document),
            docs: Page::plain(HTML, Policy::Reference, docs),
            docs_script: Page::plain(SCRIPT, Policy::Asset, script),
            scalar: Page::compressed(SCRIPT, Policy::Asset, scalar),
            style: Page::plain("text/css; charset=utf-8", Policy::Asset, style),
            changelog: Page::plain(HTML, Policy::Text, changelog::page()),
            icon: Page::plain("image/svg+xml", Policy::Asset, icon),
        }
    }

    /// The response of the page at this path; `None` if there is no page.
    pub fn find(&self, request: &RequestInfo) -> Option<Response<Body>> {
        let page = match request.uri().path() {
            "/" | "/docs" => &self.docs,
            "/docs/docs.js" => &self.docs_script,
            "/docs/scalar.js" => &self.scalar,
            "/docs/pages.css" => &self.style,
            "/openapi.json" => &self.document,
            "/changelog" => &self.changelog,
            "/favicon.ico" => &self.icon,
            _ => return None,
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(method_not_allowed("GET, HEAD"));
        }
        Some(page.respond(request.headers()))
    }
}
