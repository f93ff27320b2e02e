//! `cargo xtask generate`: writes the contract and the clients from the documents, their README from its
//! documentation, and the server's pages from the changelog and the documents.

use crate::Outcome;
use crate::canonical_json;
use crate::check::check_canonical;
use crate::client_code::client_code;
use crate::client_readme::client_readme;
use crate::documents::DOCUMENTS;
use crate::pages::pages;
use crate::repository::{CHANGELOG, CLIENT_DOCS, CLIENT_README, CLIENTS, Repository};
use anyhow::{Context, ensure};
use contract::contract;
use std::io::Write;

/// A file as it is generated.
pub struct GeneratedFile {
    /// Its name.
    pub name: String,
    /// The file that it is generated from.
    pub source: &'static str,
    /// What it says.
    pub text: String,
}

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
        let document = canonical_json::parse(source, &repository.read(source)?)?;
        files.push(file(client.code, source, client_code(client, &document)?));
        documents.push(document);
    }
    let readme = client_readme(&repository.read(CLIENT_DOCS)?)?;
    files.push(file(CLIENT_README, CLIENT_DOCS, readme));
    if repository.has_server() {
        files.extend(pages(&repository.read(CHANGELOG)?, &documents));
    }
    Ok(files)
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
