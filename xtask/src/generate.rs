//! `cargo xtask generate`: writes the client from the document.

use crate::Outcome;
use crate::client_code::client_code;
use crate::repository::{CLIENT_CODE, DOCUMENT, Repository};
use crate::strict_json;
use anyhow::bail;
use std::io::Write;

/// Rewrites the generated client, and no other file.
pub fn generate(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let document = strict_json::read(DOCUMENT, &repository.read(DOCUMENT)?)?;
    if let Some(pointer) = document.duplicates.first() {
        bail!("{DOCUMENT}: the key {pointer} stands more than once in its object: remove one");
    }
    let code = client_code(&document.value)?;
    // An untouched file is not compiled anew.
    if repository.read_generated(CLIENT_CODE)? == code {
        writeln!(out, "{CLIENT_CODE} is already what {DOCUMENT} generates.")?;
    } else {
        repository.write(CLIENT_CODE, &code)?;
        writeln!(out, "Wrote {CLIENT_CODE} from {DOCUMENT}.")?;
    }
    Ok(Outcome::Clean)
}
