//! Runs cargo-mutants in this checkout, and reads what it found.

use crate::repository::Repository;
use anyhow::{Context, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// What an operator lacks.
const INSTALL: &str = "cargo-mutants is missing: cargo install --locked cargo-mutants";

/// What became of mutants, by their names. The others were caught.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// Every test passed.
    pub missed: BTreeSet<String>,
    /// It does not compile.
    pub unviable: BTreeSet<String>,
}

/// cargo-mutants, in a checkout whose files it changes and restores.
pub struct CargoMutants {
    root: PathBuf,
}

impl CargoMutants {
    /// Fails if it is not installed, or if the checkout has changes among which a mutant
    /// could be left behind.
    pub fn new(repository: &Repository) -> anyhow::Result<CargoMutants> {
        let tool = CargoMutants { root: repository.root().to_path_buf() };
        tool.output(&["--version"]).context(INSTALL)?;
        let mut git = Command::new("git");
        git.args(["status", "--porcelain"]).current_dir(&tool.root);
        let status = git.output().context("cannot run git")?;
        if !status.status.success() || !status.stdout.is_empty() {
            bail!("mutants are made in place: commit first, or use a worktree of its own");
        }
        Ok(tool)
    }

    /// The names of all mutants.
    pub fn list(&self) -> anyhow::Result<Vec<String>> {
        let listed = self.output(&["--workspace", "--list", "--json"])?;
        let listed: Vec<Value> = serde_json::from_str(&listed)?;
        let name = |mutant: Value| Some(mutant.get("name")?.as_str()?.to_string());
        listed.into_iter().map(name).collect::<Option<_>>().context("a mutant has no name")
    }

    /// Runs these mutants against tests: of their own package unless others are named,
    /// with these arguments of `cargo test`. What is printed stays under
    /// `target/mutants/LABEL`.
    pub fn run(
        &self,
        label: &str,
        names: &[String],
        packages: &[&str],
        test_arguments: &[&str],
    ) -> anyhow::Result<Verdicts> {
        let directory = self.root.join("target/mutants").join(label);
        std::fs::create_dir_all(&directory)?;
        let mut command = self.command();
        command.args(["--workspace", "--in-place", "--no-shuffle", "--output"]).arg(&directory);
        for name in names {
            command.arg(format!("--re=^{}$", escaped(name)));
        }
        command.args(packages.iter().map(|package| format!("--test-package={package}")));
        let status = command.arg("--").args(test_arguments).status();
        match status.context(INSTALL)?.code() {
            // All caught; some missed; some timed out.
            Some(0 | 2 | 3) => {}
            code => bail!("cargo mutants ended with {code:?}; see {}", directory.display()),
        }
        let read = |file: &str| -> anyhow::Result<BTreeSet<String>> {
            let text = std::fs::read_to_string(directory.join("mutants.out").join(file))?;
            // It does not apply --re to mutants that delete a field.
            Ok(text.lines().map(ToString::to_string).filter(|name| names.contains(name)).collect())
        };
        Ok(Verdicts { missed: read("missed.txt")?, unviable: read("unviable.txt")? })
    }

    fn command(&self) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.arg("mutants").current_dir(&self.root);
        command
    }

    fn output(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.command().args(arguments).output().context("cannot run cargo")?;
        if !output.status.success() {
            bail!("cargo mutants: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The name as a regular expression that matches it alone.
fn escaped(name: &str) -> String {
    let is_special = |letter: char| r"\.+*?()|[]{}^$#&-~".contains(letter);
    let mut escaped = String::new();
    for letter in name.chars() {
        if is_special(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_matches_itself_alone() {
        assert_eq!(escaped("a.rs:1:2: replace f -> [u8]"), r"a\.rs:1:2: replace f \-> \[u8\]");
    }

    #[test]
    fn a_checkout_with_changes_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let git = |arguments: &[&str]| {
            Command::new("git").args(arguments).current_dir(root.path()).output().unwrap()
        };
        assert!(git(&["init", "--quiet"]).status.success());
        std::fs::write(root.path().join("changed"), "").unwrap();
        // Whichever comes first: without the tool it is named, with it the changes are.
        let error = CargoMutants::new(&Repository::at(root.path())).err().unwrap().to_string();
        assert!(error == INSTALL || error.contains("commit first"), "{error}");
    }
}
