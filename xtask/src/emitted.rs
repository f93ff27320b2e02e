//! Gets the documents that dropshot emits from the generated types in `api/src`. Runs a program of
//! `api`, because `cargo xtask` itself must work while `api` does not compile.

use crate::documents::DOCUMENTS;
use crate::repository::Repository;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::process::{Command, Stdio};

/// For each version, the emitted document or an error, in the order of [`DOCUMENTS`].
pub type Emitted = [anyhow::Result<Value>; DOCUMENTS.len()];

pub fn emitted(repository: &Repository) -> Emitted {
    match documents(repository) {
        Ok(documents) => documents.map(Ok),
        Err(error) => DOCUMENTS.map(|_| Err(anyhow::anyhow!("{error:#}"))),
    }
}

fn documents(repository: &Repository) -> anyhow::Result<[Value; DOCUMENTS.len()]> {
    let mut command = cargo_run(repository, &["--bin", "emit-documents"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "the contract in api emits nothing; above is why ({})",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("emit-documents printed something else")
}

/// Returns the command `cargo run` for a program of the workspace. `program` contains the arguments
/// that select the program, such as `--bin dist`.
pub fn cargo_run(repository: &Repository, program: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet"]).args(program).arg("--").current_dir(repository.root());
    command
}
