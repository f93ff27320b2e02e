//! Generates the pages that the server embeds, from the changelog, the guide and the documents.
//! Writes no file.

mod changelog;
mod facts;
mod feed;
mod guide;
mod llms;
mod markdown;
mod reference;

use crate::documents::{DOCUMENTS, V1};
use crate::repository::{CHANGELOG, GUIDE, GeneratedFile, PAGES};
use serde_json::Value;

/// The placeholder in templates for the site bar's links to the reference pages.
const VERSION_LINKS: &str = "{versions}";

fn version_links() -> String {
    let links = DOCUMENTS.map(|of| format!("<a href=\"{}\">API {}</a>", of.reference, of.module));
    links.join(" ")
}

/// Generates all pages. `documents` are in the order of [`DOCUMENTS`].
pub fn pages(changelog: &str, guide: &str, documents: &[Value]) -> Vec<GeneratedFile> {
    let page =
        |name: &str, source, text| GeneratedFile { name: format!("{PAGES}/{name}"), source, text };
    let changelog = &changelog::with_links(changelog);
    let mut pages = vec![
        page("changelog.html", CHANGELOG, changelog::page(changelog)),
        page("changelog.atom", CHANGELOG, feed::feed(&changelog::releases(changelog))),
        page("guide.html", GUIDE, guide::page(guide)),
        page("llms.txt", V1.file, llms::page(guide, documents)),
    ];
    for (version, document) in DOCUMENTS.iter().zip(documents) {
        // The page of `/docs/v2` is docs/v2.html.
        let name = format!("{}.html", version.reference.trim_start_matches('/'));
        pages.push(page(&name, version.file, reference::page(version, document)));
    }
    pages
}
