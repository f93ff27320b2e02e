//! `cargo xtask generate`: writes the contract and the clients from the documents, their README from its
//! documentation, and the server's pages from the changelog and the documents.

use crate::Outcome;
use crate::canonical_json;
use crate::client_readme::client_readme;
use crate::documents::DOCUMENTS;
use crate::pages::pages;
use crate::repository::{
    CHANGELOG, CLIENT_CODE, CLIENT_DOCS, CLIENT_README, CLIENTS, GeneratedFile, Repository,
};
use anyhow::{Context, ensure};
use contract::client::Version;
use contract::contract;
use serde_json::Value;
use std::io::Write;

/// All generated files: the contract, the clients, their README, and the pages where there is a server.
pub fn generated(repository: &Repository) -> anyhow::Result<Vec<GeneratedFile>> {
    let file = |name: &str, source, text| GeneratedFile { name: name.to_string(), source, text };
    let (mut files, mut documents) = (Vec::new(), Vec::new());
    for of in DOCUMENTS {
        let source = of.file;
        let document = canonical_json::parse(source, &repository.read(source)?)?;
        let code = contract(&document, source, "cargo xtask generate");
        let code = code.with_context(|| format!("no contract can be made of {source}"))?;
        files.push(file(of.contract, source, code));
    }
    for client in &CLIENTS {
        let source = client.document;
        documents.push(canonical_json::parse(source, &repository.read(source)?)?);
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
        let text = repository.read(document)?;
        ensure!(
            canonical_json::print(&canonical_json::parse(document, &text)?) == text,
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
