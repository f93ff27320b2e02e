//! Generates code and pages, and returns them without writing a file:
//!
//! - from the documents: the contract in Rust (`api/src/vN.rs`), the clients, and the Rust samples
//!   that `tests/samples.rs` includes
//! - from the documentation of the client's crate: the client's README
//! - from the changelog, the guide and the documents: the server's pages

use crate::canonical_json;
use crate::client_command::fill_in_client_command;
use crate::client_readme::client_readme;
use crate::documents::DOCUMENTS;
use crate::guide::{CODE, codes, error_sections};
use crate::pages::pages;
use crate::repository::{
    CHANGELOG, CLIENT_DOCS, CLIENT_MODULES, CLIENT_README, CLIENT_VALUES, GUIDE, GeneratedFile,
    RUST_SAMPLES, Repository, SAMPLES,
};
use crate::samples::rust_modules;
use codegen::client::{ALL, Version};
use codegen::{Error, Refusal, Refusals};
use serde_json::Value;

/// Generates all files. If the checkout does not contain the server, omits the documentation pages
/// and the Rust modules of the samples.
pub fn generated(repository: &Repository) -> anyhow::Result<Vec<GeneratedFile>> {
    let file = |name: &str, source, text| GeneratedFile { name: name.to_string(), source, text };
    let (mut files, mut documents) = (Vec::new(), Vec::new());
    for version in DOCUMENTS {
        let source = version.file;
        let document = canonical_json::parse(source, &repository.read(source)?)?;
        let code = codegen::server(&document, source, "cargo xtask generate");
        let code = code.map_err(|error| prefix_places(error, source))?;
        files.push(file(version.contract, source, code));
        documents.push(document);
    }
    files.extend(client_code(&documents)?);
    let readme = client_readme(&repository.read(CLIENT_DOCS)?)?;
    let readme = fill_in_client_command(repository, &readme)?;
    files.push(file(CLIENT_README, CLIENT_DOCS, readme));
    if repository.has_server() {
        files.push(file(RUST_SAMPLES, SAMPLES, rust_modules(&documents)));
        let guide = repository.read(GUIDE)?;
        check_has_sections(&guide, &documents)?;
        files.extend(pages(&repository.read(CHANGELOG)?, &guide, &documents));
    }
    Ok(files)
}

/// Checks that each error code has a section in the guide. The `Link` header of an error leads to
/// its section.
fn check_has_sections(guide: &str, documents: &[Value]) -> Result<(), Error> {
    let sections = error_sections(guide);
    let mut refusals = Vec::new();
    for (of, document) in DOCUMENTS.iter().zip(documents) {
        for (index, code) in codes(document).enumerate() {
            if !sections.iter().any(|section| section.code == code) {
                let pointer = format!("{}#{CODE}/x-extensible-enum/{index}", of.file);
                let problem = format!("the error code {code:?} has no section in {GUIDE}");
                let fix = format!("add a heading such as ### 409 `{code}` there, and its meaning");
                refusals.push(Refusal::new(&pointer, problem, fix));
            }
        }
    }
    if refusals.is_empty() { Ok(()) } else { Err(Refusals(refusals).into()) }
}

/// Prefixes the pointers in the error with the document's file. Do not pass errors of the clients'
/// generator, because their pointers already have this prefix.
fn prefix_places(error: Error, source: &str) -> Error {
    let Error::Refused(mut refusals) = error else { return error };
    for refusal in &mut refusals.0 {
        refusal.pointer = format!("{source}#{}", refusal.pointer);
    }
    Error::Refused(refusals)
}

/// Generates the clients. `documents` are in the order of [`DOCUMENTS`].
pub fn client_code(documents: &[Value]) -> anyhow::Result<Vec<GeneratedFile>> {
    let versions = DOCUMENTS.iter().zip(documents).map(|(of, document)| Version {
        document,
        source: of.file,
        module: of.module,
    });
    let versions: Vec<_> = versions.collect();
    let code = codegen::client::client(&versions, "cargo xtask generate")?;
    let files = DOCUMENTS.iter().zip(code.versions).map(|(of, text)| GeneratedFile {
        name: of.client.to_string(),
        source: of.file,
        text,
    });
    let values = GeneratedFile { name: CLIENT_VALUES.to_string(), source: ALL, text: code.values };
    let modules =
        GeneratedFile { name: CLIENT_MODULES.to_string(), source: ALL, text: code.modules };
    Ok(files.chain([values, modules]).collect())
}
