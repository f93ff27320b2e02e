//! The command line: from anyone's document to a package, or to the code alone.

use crate::{Error, contract, json, package, write_package};
use anyhow::Context;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// A document, and what to write.
#[derive(Args, Debug)]
pub struct ContractArgs {
    /// An OpenAPI 3.0 document, in JSON
    document: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Leave the client out
    #[arg(long, conflicts_with = "code")]
    server_only: bool,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Target {
    /// Write a package to this directory, which must not exist: the contract, a test that holds
    /// what it emits against the document, and in `client` the client, with a test that calls each
    /// operation
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Write the code alone to this file, as `cargo xtask generate` does
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
}

impl ContractArgs {
    /// Writes it; `false` if the document is refused, with a line for each place. Files are
    /// written whole or not at all.
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<bool> {
        let source = self.document.display().to_string();
        let text = std::fs::read_to_string(&self.document)
            .with_context(|| format!("cannot read {source}"))?;
        match self.write(&text, &source, out) {
            Err(error) => match error.downcast_ref::<Error>() {
                Some(Error::Refused(refusals)) => {
                    writeln!(out, "{refusals}")?;
                    Ok(false)
                }
                _ => Err(error),
            },
            Ok(()) => Ok(true),
        }
    }

    fn write(&self, text: &str, source: &str, out: &mut dyn Write) -> anyhow::Result<()> {
        if let Some(directory) = &self.target.out {
            let files = package(text, source, !self.server_only)?;
            let name = directory.display();
            write_package(&files, directory).with_context(|| format!("cannot write {name}"))?;
            writeln!(
                out,
                "Wrote {name} from {source}. `cargo test --workspace` in it holds what it emits against the document."
            )?;
        }
        if let Some(file) = &self.target.code {
            let document = json::parse(text).map_err(Error::from)?;
            let code = contract(&document, source, "cargo xtask generate")?;
            let name = file.display();
            write_whole(file, &code).with_context(|| format!("cannot write {name}"))?;
            writeln!(out, "Wrote {name} from {source}.")?;
        }
        Ok(())
    }
}

/// Writes a file whole, or leaves the old one.
pub fn write_whole(file: &std::path::Path, text: &str) -> std::io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or(Ok(()), std::fs::create_dir_all)?;
    let mut whole = tempfile::Builder::new()
        .prefix(".whole-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(parent.unwrap_or(std::path::Path::new(".")))?;
    whole.write_all(text.as_bytes())?;
    whole.persist(file).map(drop).map_err(|error| error.error)
}
