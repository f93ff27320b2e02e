//! Serves the public pages outside the API, such as the API documents, the guide and the changelog.
//! The pages need no key and are not rate limited. No page loads anything from another server.

mod page;
mod policy;
mod served_document;

pub use served_document::{served_document, served_documents};

use dropshot::{Body, RequestInfo};
use http::{HeaderValue, Method, Response, StatusCode, header};
use page::ServedPage;
use policy::Policy;
use serde_json::Value;
use store_orders_api::documents::{COUNT, DOCUMENTS, V1, newest_stable, text, with_versions};
use store_orders_api::emission::DocumentError;
use store_orders_api::errors::method_not_allowed;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const FEED: &str = "application/atom+xml; charset=utf-8";

/// Placeholder for the API's base URLs in generated pages. In reference pages, the server inserts
/// the operator's contact after the URLs.
const BASE_URLS: &str = "{base_urls}";

/// A fixed path for the reference page of the newest stable version. The page is also at `/` and at
/// the path of its version.
const NEWEST_REFERENCE: &str = "/docs";

macro_rules! references {
    ($($module:ident $name:ident {
        file: $file:literal, path: $path:literal, reference: $reference:literal, $($rest:tt)*
    })*) => {
        /// The templates of the reference pages, in the order of `DOCUMENTS`.
        const REFERENCES: [&str; COUNT] =
            [$(include_str!(concat!("docs/generated", $reference, ".html"))),*];
    };
}
with_versions!(references);

pub struct Docs(Vec<(&'static str, ServedPage)>);

impl Docs {
    /// Builds the pages. `documents` are the results of [`served_documents`], in the order of
    /// `DOCUMENTS`.
    pub fn new(documents: &[Value]) -> Result<Docs, DocumentError> {
        let asset = |kind, text| ServedPage::plain(kind, Policy::Asset, text);
        let changelog = include_str!("docs/generated/changelog.html");
        let guide = include_str!("docs/generated/guide.html");
        let feed = include_str!("docs/generated/changelog.atom");
        let scalar = include_bytes!(concat!(env!("OUT_DIR"), "/scalar.js.gz"));
        let mut pages = vec![
            ("/docs/docs.css", asset(STYLE, include_str!("docs/assets/docs.css"))),
            ("/docs/docs.js", asset(SCRIPT, include_str!("docs/assets/docs.js"))),
            ("/docs/scalar.js", ServedPage::from_gzip(SCRIPT, Policy::Asset, scalar)),
            ("/docs/guide.js", asset(SCRIPT, include_str!("docs/assets/guide.js"))),
            ("/docs/pages.css", asset(STYLE, include_str!("docs/assets/pages.css"))),
            ("/guide", ServedPage::plain(HTML, Policy::Text, guide)),
            ("/changelog", ServedPage::plain(HTML, Policy::Text, changelog)),
            ("/changelog.atom", asset(FEED, feed)),
            ("/favicon.ico", asset("image/svg+xml", include_str!("docs/assets/favicon.svg"))),
            ("/robots.txt", ServedPage::plain(TEXT, Policy::Asset, robots())),
        ];
        for ((document, served), template) in DOCUMENTS.iter().zip(documents).zip(REFERENCES) {
            let page = ServedPage::plain("application/json", Policy::Document, text(served)?);
            let reference = reference(template, served);
            if document.path == newest_stable().path {
                pages.extend([
                    (NEWEST_REFERENCE, reference.clone()),
                    ("/llms.txt", ServedPage::plain(TEXT, Policy::Asset, llms(served))),
                ]);
            }
            pages.extend([(document.path, page), (document.reference, reference)]);
        }
        Ok(Docs(pages))
    }

    /// Returns the response for the page at the request's path, or `None` if no page has this path.
    pub fn find(&self, request: &RequestInfo) -> Option<Response<Body>> {
        let path = match request.uri().path() {
            "/" => NEWEST_REFERENCE,
            path => path,
        };
        // People and some tools add a slash to a page's address, so redirect them to the page.
        let without_slash = path.strip_suffix('/').unwrap_or(path);
        let (page_path, page) = self.0.iter().find(|(path, _)| *path == without_slash)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(method_not_allowed("GET, HEAD", None, &V1));
        }
        Some(match *page_path == path {
            true => page.respond(request.headers()),
            false => {
                let mut moved = moved_permanently(page_path);
                page.policy.set_headers(moved.headers_mut());
                moved
            }
        })
    }
}

fn moved_permanently(path: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(path));
    response
}

/// Inserts the base URLs and the operator's contact into a reference page, so that they appear even
/// if the browser runs no scripts.
fn reference(template: &str, document: &Value) -> ServedPage {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let base_urls = base_urls(document, |url, note| {
        format!("<li>Base URL: <code>{}</code>{}</li>\n", escape(url), escape(note))
    });
    let contact =
        contact(document).map(|contact| format!("<li>Contact: {}</li>\n", escape(&contact)));
    let settings = base_urls + &contact.unwrap_or_default();
    ServedPage::plain(HTML, Policy::Reference, template.replace(BASE_URLS, &settings))
}

fn contact(document: &Value) -> Option<String> {
    let contact = document.pointer("/info/contact")?;
    let fields = ["name", "url", "email"].map(|field| contact.get(field).and_then(Value::as_str));
    let fields: Vec<_> = fields.into_iter().flatten().collect();
    (!fields.is_empty()).then(|| fields.join(", "))
}

/// Returns `robots.txt`, which asks crawlers not to request paths of the API.
fn robots() -> String {
    let rules = DOCUMENTS.map(|document| format!("Disallow: {}/\n", document.base_path));
    format!("{}{}", include_str!("docs/assets/robots.txt"), rules.concat())
}

/// Returns `llms.txt`, a summary of the API for language models, with the document's base URLs
/// filled in.
fn llms(document: &Value) -> String {
    let base_urls = base_urls(document, |url, note| format!("- Base URL: `{url}`{note}\n"));
    include_str!("docs/generated/llms.txt").replace(BASE_URLS, &base_urls)
}

/// Formats each server of the document with `line`. The first argument of `line` is the server's
/// URL. The second is ` (description)`, or empty if the server has no description.
fn base_urls(document: &Value, line: impl Fn(&str, &str) -> String) -> String {
    let servers = document["servers"].as_array().into_iter().flatten();
    let line = |server: &Value| {
        let note = server["description"].as_str().map(|text| format!(" ({text})"));
        line(server["url"].as_str().unwrap_or_default(), &note.unwrap_or_default())
    };
    servers.map(line).collect()
}
