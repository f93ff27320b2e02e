//! `cargo xtask generate`: writes the clients from the documents, their README from its
//! documentation, and the server's pages from the changelog and the documents.

use crate::Outcome;
use crate::canonical_json;
use crate::client_code::client_code;
use crate::client_readme::client_readme;
use crate::pages::pages;
use crate::repository::{CHANGELOG, CLIENT_DOCS, CLIENT_README, CLIENTS, Repository};
use anyhow::ensure;
use std::io::Write;

/// Rewrites the generated clients, their README and the generated pages, and no other file.
pub fn generate(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (mut generated, mut documents) = (Vec::new(), Vec::new());
    for client in &CLIENTS {
        let text = repository.read(client.document)?;
        let document = canonical_json::parse(client.document, &text)?;
        generated.push((client, client_code(client, &document)?));
        ensure!(
            canonical_json::print(&document) == text,
            "{} is not in canonical form, so it may hold a key twice; \
             `cargo xtask check` shows where",
            client.document
        );
        documents.push(document);
    }
    let readme = client_readme(&repository.read(CLIENT_DOCS)?)?;
    for (client, code) in &generated {
        write(repository, client.code, client.document, code, out)?;
    }
    write(repository, CLIENT_README, CLIENT_DOCS, &readme, out)?;
    if repository.has_server() {
        for page in pages(&repository.read(CHANGELOG)?, &documents) {
            write(repository, &page.name, page.source, &page.text, out)?;
        }
    }
    Ok(Outcome::Clean)
}

/// An unchanged file is not written, and so not compiled again.
fn write(
    repository: &Repository,
    name: &str,
    source: &str,
    text: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if repository.read_generated(name)? == text {
        writeln!(out, "{name} is already what {source} generates.")?;
    } else {
        repository.write(name, text)?;
        writeln!(out, "Wrote {name} from {source}.")?;
    }
    Ok(())
}
