//! Generates the pages that the server embeds, from the changelog, the guide and the documents.
//! Writes no file.

mod changelog;
mod facts;
mod feed;
mod guide;
mod llms;
mod markdown;
mod reference;

use crate::documents::{DOCUMENTS, Document, V1};
use crate::repository::{CHANGELOG, GUIDE, GeneratedFile, PAGES};
use serde_json::Value;

const SITE_BAR: &str = "{site}";

/// Returns the newest version that is not a pre-release, and its document. `documents` are in the
/// order of [`DOCUMENTS`].
fn newest_stable(documents: &[Value]) -> (&'static Document, &Value) {
    let is_stable = |document: &Value| {
        let version = document.pointer("/info/version").and_then(Value::as_str);
        version.is_some_and(|version| !version.contains('-'))
    };
    let mut versions = DOCUMENTS.into_iter().zip(documents).rev();
    versions.find(|(_, document)| is_stable(document)).unwrap_or((&V1, &Value::Null))
}

/// Returns a version's name as pages show it, such as `v1 (older)`.
fn label(version: &Document, newest: &Document) -> String {
    let mut before_newest = DOCUMENTS.iter().take_while(|other| other.module != newest.module);
    let is_older = before_newest.any(|other| other.module == version.module);
    format!("{}{}", version.module, if is_older { " (older)" } else { "" })
}

/// Renders the links at the top of a page. Marks the link to the page itself, which is at
/// `current`. The link "OpenAPI" leads to `document`.
fn site_bar(newest: &Document, current: &str, document: &Document) -> String {
    let references = DOCUMENTS.iter().rev().map(|of| (of.reference, label(of, newest)));
    let page = |(address, title): (&'static str, &str)| (address, title.to_string());
    let others =
        [("/changelog", "Changelog"), (document.path, "OpenAPI"), ("/changelog.atom", "Feed")];
    let pages = std::iter::once(page(("/guide", "Guide"))).chain(references);
    let links = pages.chain(others.map(page)).map(|(address, title)| {
        let mark = if address == current { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{address}\"{mark}>{title}</a>")
    });
    let links = links.collect::<Vec<_>>().join(" ");
    format!("<nav class=\"site\" aria-label=\"Site\">{links}</nav>")
}

/// Generates all pages. `documents` are in the order of [`DOCUMENTS`].
pub fn pages(changelog: &str, guide: &str, documents: &[Value]) -> Vec<GeneratedFile> {
    let page =
        |name: &str, source, text| GeneratedFile { name: format!("{PAGES}/{name}"), source, text };
    let changelog = &changelog::with_links(changelog);
    let (newest, _) = newest_stable(documents);
    let mut pages = vec![
        page("changelog.html", CHANGELOG, changelog::page(changelog, newest)),
        page("changelog.atom", CHANGELOG, feed::feed(&changelog::releases(changelog))),
        page("guide.html", GUIDE, guide::page(guide, newest)),
        page("llms.txt", newest.file, llms::page(guide, documents)),
    ];
    for (version, document) in DOCUMENTS.iter().zip(documents) {
        // The file docs/v2.html is the page of `/docs/v2`.
        let name = format!("{}.html", version.reference.trim_start_matches('/'));
        pages.push(page(&name, version.file, reference::page(version, newest, document)));
    }
    pages
}
