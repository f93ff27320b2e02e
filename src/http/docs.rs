//! The public pages outside `/v1` and `/v2`: document, reference, changelog, and what programs
//! that read sites ask for. They need no key and count against no limit. All are made
//! from the document and from files embedded in the program, and no page loads
//! anything from another server.

mod page;
mod policy;
mod served_document;

pub use served_document::{served_document, served_documents};

use super::responses::{method_not_allowed, moved_permanently};
use dropshot::{Body, RequestInfo};
use http::{Method, Response};
use page::Page;
use policy::Policy;
use serde_json::Value;
use store_orders_api::documents::{DOCUMENTS, Document, V1};
use store_orders_api::emission::{DocumentError, text};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const FEED: &str = "application/atom+xml; charset=utf-8";

/// The pages and their assets, each at its path.
pub struct Docs(Vec<(&'static str, Page)>);

impl Docs {
    /// The pages for the documents of all versions, the stable one first. Those that depend on
    /// no setting are made by `cargo xtask generate`.
    pub fn new(documents: &[Value]) -> Result<Docs, DocumentError> {
        let asset = |kind, text| Page::plain(kind, Policy::Asset, text);
        let changelog = include_str!("docs/generated/changelog.html");
        let feed = include_str!("docs/generated/changelog.atom");
        let scalar = include_bytes!(concat!(env!("OUT_DIR"), "/scalar.js.gz"));
        let stable = documents.first().unwrap_or(&Value::Null);
        let mut pages = vec![
            ("/docs/docs.css", asset(STYLE, include_str!("docs/assets/docs.css"))),
            ("/docs/docs.js", asset(SCRIPT, include_str!("docs/assets/docs.js"))),
            ("/docs/scalar.js", Page::compressed(SCRIPT, Policy::Asset, scalar)),
            ("/docs/pages.css", asset(STYLE, include_str!("docs/assets/pages.css"))),
            ("/changelog", Page::plain(HTML, Policy::Text, changelog)),
            ("/changelog.atom", asset(FEED, feed)),
            ("/favicon.ico", asset("image/svg+xml", include_str!("docs/assets/favicon.svg"))),
            ("/llms.txt", Page::plain(TEXT, Policy::Asset, llms(stable))),
            ("/robots.txt", asset(TEXT, include_str!("docs/assets/robots.txt"))),
        ];
        for (document, served) in DOCUMENTS.iter().zip(documents) {
            let page = Page::plain("application/json", Policy::Document, text(served)?);
            pages.extend([(document.path, page), (document.reference, reference(document))]);
        }
        Ok(Docs(pages))
    }

    /// The response of the page at this path; `None` if there is no page.
    pub fn find(&self, request: &RequestInfo) -> Option<Response<Body>> {
        let path = match request.uri().path() {
            "/" => V1.reference,
            path => path,
        };
        // What people type, and what some tools make of the address of a page.
        let without_slash = path.strip_suffix('/').unwrap_or(path);
        let (own_path, page) = self.0.iter().find(|(own, _)| *own == without_slash)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(method_not_allowed("GET, HEAD", &V1));
        }
        Some(match *own_path == path {
            true => page.respond(request.headers()),
            false => {
                let mut moved = moved_permanently(own_path);
                page.policy.set_headers(moved.headers_mut());
                moved
            }
        })
    }
}

/// The reference of a version, which names its document.
fn reference(document: &Document) -> Page {
    let link = format!("<a href=\"{}\"", document.reference);
    let html = include_str!("docs/assets/docs.html")
        .replace(V1.path, document.path)
        .replace(&format!("{link}>"), &format!("{link} aria-current=\"page\">"));
    Page::plain(HTML, Policy::Reference, html)
}

/// The document in short, for language models.
fn llms(document: &Value) -> String {
    let servers = document["servers"].as_array().into_iter().flatten();
    let base_url = |server: &Value| {
        let url = server["url"].as_str().unwrap_or_default();
        match server["description"].as_str() {
            Some(description) => format!("- Base URL: `{url}` ({description})\n"),
            None => format!("- Base URL: `{url}`\n"),
        }
    };
    let base_urls: String = servers.map(base_url).collect();
    include_str!("docs/generated/llms.txt").replace("{base_urls}", &base_urls)
}
