//! The pages of the server that are made from the changelog and the document, and embedded in
//! it. Writes no file.

mod changelog;
mod facts;
mod feed;
mod llms;
mod markdown;
mod reference;

use crate::documents::{DOCUMENTS, V1};
use crate::repository::{CHANGELOG, GeneratedFile, PAGES};
use serde_json::Value;

/// All pages of this changelog and the documents of all versions, the stable one first.
pub fn pages(changelog: &str, documents: &[Value]) -> Vec<GeneratedFile> {
    let page =
        |name: &str, source, text| GeneratedFile { name: format!("{PAGES}/{name}"), source, text };
    let mut pages = vec![
        page("changelog.html", CHANGELOG, changelog::page(changelog)),
        page("changelog.atom", CHANGELOG, feed::feed(&changelog::releases(changelog))),
        page("llms.txt", V1.file, llms::page(documents)),
    ];
    for (of, document) in DOCUMENTS.iter().zip(documents) {
        // `/docs/v2` is docs-v2.html.
        let name = of.reference.trim_start_matches('/').replace('/', "-") + ".html";
        pages.push(page(&name, of.file, reference::page(of, document)));
    }
    pages
}
