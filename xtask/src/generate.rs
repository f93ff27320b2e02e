//! `cargo xtask generate`: writes the client from the document.

use crate::Outcome;
use crate::canonical_json;
use crate::client_code::client_code;
use crate::repository::{CLIENT_CODE, DOCUMENT, Repository};
use anyhow::ensure;
use std::io::Write;

/// Rewrites the generated client, and no other file.
pub fn generate(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let text = repository.read(DOCUMENT)?;
    let document = canonical_json::parse(DOCUMENT, &text)?;
    let code = client_code(&document)?;
    ensure!(
        canonical_json::print(&document) == text,
        "{DOCUMENT} is not in canonical form, so it may hold a key twice; \
         `cargo xtask check` shows where"
    );
    // An unchanged file is not compiled again.
    if repository.read_generated(CLIENT_CODE)? == code {
        writeln!(out, "{CLIENT_CODE} is already what {DOCUMENT} generates.")?;
    } else {
        repository.write(CLIENT_CODE, &code)?;
        writeln!(out, "Wrote {CLIENT_CODE} from {DOCUMENT}.")?;
    }
    Ok(Outcome::Clean)
}
