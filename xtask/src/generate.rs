//! `cargo xtask generate`: writes the samples into the documents, the contract and the clients from them, their README from its
//! documentation, and the server's pages from the changelog and the documents.

use crate::Outcome;
use crate::canonical_json;
use crate::check::check_canonical;
use crate::client_readme::client_readme;
use crate::documents::DOCUMENTS;
use crate::pages::pages;
use crate::repository::{
    CHANGELOG, CLIENT_CODE, CLIENT_DOCS, CLIENT_README, CLIENTS, Repository, SAMPLES,
};
use crate::samples;
use anyhow::{Context, ensure};
use contract::client::Version;
use contract::contract;
use serde_json::Value;
use std::io::Write;

/// A file as it is generated.
#[derive(Debug)]
pub struct GeneratedFile {
    /// Its name.
    pub name: String,
    /// The file that it is generated from.
    pub source: &'static str,
    /// What it says.
    pub text: String,
}

/// All generated files: the contract, the clients and their README, and, where there is a server,
/// the documents with their samples, and the pages.
pub fn generated(repository: &Repository) -> anyhow::Result<Vec<GeneratedFile>> {
    let file = |name: &str, source, text| GeneratedFile { name: name.to_string(), source, text };
    let (mut files, mut documents) = (Vec::new(), Vec::new());
    for of in DOCUMENTS {
        let source = of.file;
        let mut document = canonical_json::parse(source, &repository.read(source)?)?;
        if repository.has_server() {
            samples::put(repository, of, &mut document)?;
            files.push(file(source, SAMPLES, canonical_json::print(&document)));
        }
        let code = contract(&document, source, "cargo xtask generate");
        let code = code.with_context(|| format!("no contract can be made of {source}"))?;
        files.push(file(of.contract, source, code));
        documents.push(document);
    }
    files.extend(client_code(&documents)?);
    let readme = client_readme(&repository.read(CLIENT_DOCS)?)?;
    files.push(file(CLIENT_README, CLIENT_DOCS, readme));
    if repository.has_server() {
        files.extend(pages(&repository.read(CHANGELOG)?, &documents));
    }
    Ok(files)
}

/// The client of these documents.
pub fn client_code(documents: &[Value]) -> anyhow::Result<Vec<GeneratedFile>> {
    let versions: Vec<_> = CLIENTS
        .iter()
        .zip(documents)
        .map(|(of, document)| Version {
            document,
            source: of.document,
            module: of.module,
            feature: of.feature,
        })
        .collect();
    let files = contract::client::client(&versions, "cargo xtask generate")
        .context("no client can be made of the documents")?;
    let source = |name: &str| {
        let own = CLIENTS.iter().find(|client| name.starts_with(client.module));
        own.map_or("", |client| client.document)
    };
    let file = |(name, text): (String, String)| {
        let source = source(&name);
        GeneratedFile { name: format!("{CLIENT_CODE}/{name}"), source, text }
    };
    Ok(files.into_iter().map(file).collect())
}

/// Rewrites the generated files, and no other file. An unchanged one is not written, and so not
/// compiled again.
pub fn generate(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let files = match generated(repository) {
        Ok(files) => files,
        Err(error) => return refused(error, out),
    };
    for client in &CLIENTS {
        let document = client.document;
        ensure!(
            check_canonical(document, &repository.read(document)?)?.is_empty(),
            "{document} is not in canonical form, so it may hold a key twice; \
             `cargo xtask check` shows where"
        );
    }
    for GeneratedFile { name, source, text } in &files {
        if repository.read_generated(name)? == *text {
            writeln!(out, "{name} is already what {source} generates.")?;
        } else {
            repository.write(name, text)?;
            writeln!(out, "Wrote {name} from {source}.")?;
        }
    }
    Ok(Outcome::Clean)
}

/// What is wrong with a document: a line for each place of one that is refused.
fn refused(error: anyhow::Error, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let Some(contract::Error::Refused(refusals)) = error.downcast_ref() else { return Err(error) };
    writeln!(out, "{error}; no file is written:\n{refusals}")?;
    Ok(Outcome::Drift)
}
