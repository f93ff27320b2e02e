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
use store_orders_api::document::{DocumentError, text};
use store_orders_api::documents::{DOCUMENTS, Document, V1};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const FEED: &str = "application/atom+xml; charset=utf-8";

/// The pages and their assets.
pub struct Docs {
    /// The document and the reference of every version, each at its path.
    versions: Vec<(&'static str, Page)>,
    docs_script: Page,
    docs_style: Page,
    scalar: Page,
    style: Page,
    changelog: Page,
    feed: Page,
    icon: Page,
    llms: Page,
    robots: Page,
}

impl Docs {
    /// The pages for the documents of all versions, the stable one first. Those that depend on
    /// no setting are made by `cargo xtask generate`.
    pub fn new(documents: &[Value]) -> Result<Docs, DocumentError> {
        let mut versions = Vec::new();
        for (document, served) in DOCUMENTS.iter().zip(documents) {
            let page = Page::plain("application/json", Policy::Asset, text(served)?);
            versions.extend([(document.path, page), (document.reference, reference(document))]);
        }
        let stable = documents.first().unwrap_or(&Value::Null);
        let script = include_str!("docs/assets/docs.js");
        let docs_style = include_str!("docs/assets/docs.css");
        let scalar = include_bytes!(concat!(env!("OUT_DIR"), "/scalar.js.gz"));
        let style = include_str!("docs/assets/pages.css");
        let icon = include_str!("docs/assets/favicon.svg");
        let robots = include_str!("docs/assets/robots.txt");
        Ok(Docs {
            versions,
            docs_script: Page::plain(SCRIPT, Policy::Asset, script),
            docs_style: Page::plain(STYLE, Policy::Asset, docs_style),
            scalar: Page::compressed(SCRIPT, Policy::Asset, scalar),
            style: Page::plain(STYLE, Policy::Asset, style),
            changelog: Page::plain(
                HTML,
                Policy::Text,
                include_str!("docs/generated/changelog.html"),
            ),
            feed: Page::plain(FEED, Policy::Asset, include_str!("docs/generated/changelog.atom")),
            icon: Page::plain("image/svg+xml", Policy::Asset, icon),
            llms: Page::plain(TEXT, Policy::Asset, llms(stable)),
            robots: Page::plain(TEXT, Policy::Asset, robots),
        })
    }

    /// The response of the page at this path; `None` if there is no page.
    pub fn find(&self, request: &RequestInfo) -> Option<Response<Body>> {
        let page = match request.uri().path() {
            // What people type, and what some tools make of the address of a page.
            "/docs/" => None,
            "/docs/docs.css" => Some(&self.docs_style),
            "/docs/docs.js" => Some(&self.docs_script),
            "/docs/scalar.js" => Some(&self.scalar),
            "/docs/pages.css" => Some(&self.style),
            "/changelog" => Some(&self.changelog),
            "/changelog.atom" => Some(&self.feed),
            "/favicon.ico" => Some(&self.icon),
            "/llms.txt" => Some(&self.llms),
            "/robots.txt" => Some(&self.robots),
            path => {
                let path = if path == "/" { V1.reference } else { path };
                Some(&self.versions.iter().find(|(own, _)| *own == path)?.1)
            }
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(method_not_allowed("GET, HEAD"));
        }
        Some(match page {
            Some(page) => page.respond(request.headers()),
            None => moved_permanently(V1.reference),
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
