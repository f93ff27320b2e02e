//! Reads the published documents from git, as they first were on the main branch. `check` compares
//! the files in `spec/published` with these versions. Checksums in the repository would prove less,
//! because whoever edits a document can also edit its checksum.

use crate::published::{PUBLISHED, Published, version_of};
use crate::repository::Repository;
use anyhow::{Context, bail};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::process::{Command, Output};

/// The possible main branches. All that exist are read.
const BRANCHES: [&str; 2] = ["refs/remotes/origin/main", "refs/heads/main"];

/// The published documents in the history of the main branch.
#[derive(Clone, Debug)]
pub enum History {
    /// The first version of each file, by name.
    Known(BTreeMap<String, FirstVersion>),
    /// The reason why there is no history to compare with.
    Unknown(String),
}

/// A file as the main branch first had it.
#[derive(Clone, Debug)]
pub struct FirstVersion {
    pub bytes: Vec<u8>,
    /// The commit that added the file to the main branch.
    pub commit: String,
}

impl History {
    /// Reads the history. Returns [`History::Unknown`] if there is none to read, for example in an
    /// unpacked archive.
    pub fn read(repository: &Repository) -> anyhow::Result<History> {
        let git = Git { repository };
        let unknown = |why: &str| Ok(History::Unknown(why.to_string()));
        let top = match git.run(&["rev-parse", "--show-toplevel"]) {
            Err(error) if is_missing(&error) => return unknown("git is not installed"),
            Ok(output) if !output.status.success() => return unknown("this is no git checkout"),
            other => text(&other?),
        };
        if std::fs::canonicalize(&top).ok() != std::fs::canonicalize(repository.root()).ok() {
            return unknown("this is no git checkout of its own");
        }
        if git.answer(&["rev-parse", "--is-shallow-repository"])? == "true" {
            return unknown("the checkout is shallow; `git fetch --unshallow` completes it");
        }
        let mut branches = Vec::new();
        for branch in BRANCHES {
            if git.run(&["rev-parse", "--verify", "--quiet", branch])?.status.success() {
                branches.push(branch);
            }
        }
        if branches.is_empty() {
            return unknown("git knows no branch `main`");
        }
        Ok(History::Known(git.first_versions(&branches)?))
    }

    /// Returns the published documents as the main branch first had them, because a later edit must
    /// not change a promise. Includes deleted documents, except betas whose stable version is
    /// published. A document that was never on the branch keeps its content.
    pub fn first_versions_of(&self, published: &Published) -> Published {
        let mut files = published.files.clone();
        if let History::Known(first_versions) = self {
            let first_versions =
                first_versions.iter().filter(|(name, _)| !published.is_replaced_beta(name));
            files.extend(first_versions.map(|(name, first)| (name.clone(), first.bytes.clone())));
        }
        Published { files }
    }
}

pub(crate) struct Git<'a> {
    pub(crate) repository: &'a Repository,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.repository.root()).args(arguments);
        // Remove these variables, because in a git hook they may name a different checkout.
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(variable);
        }
        command.output().context("cannot run git")
    }

    pub(crate) fn answer(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.run(arguments)?;
        if !output.status.success() {
            bail!(
                "git {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(text(&output))
    }

    /// Returns the first version of each published document in the first-parent history of
    /// `branches`. Ignores commits inside a merged branch, because they published nothing.
    fn first_versions(&self, branches: &[&str]) -> anyhow::Result<BTreeMap<String, FirstVersion>> {
        let mut arguments = vec!["log", "--reverse", "--first-parent", "-m", "--diff-filter=A"];
        arguments.extend(["--no-renames", "--raw", "--no-abbrev", "--format=%h"]);
        arguments.extend(branches);
        arguments.extend(["--", PUBLISHED]);
        let log = self.answer(&arguments)?;
        let (mut files, mut commit) = (BTreeMap::new(), "");
        for line in log.lines().filter(|line| !line.is_empty()) {
            let Some((blob, path)) = added_file(line) else {
                commit = line;
                continue;
            };
            let Some(name) = path.strip_prefix(&format!("{PUBLISHED}/")) else { continue };
            if version_of(name).is_some() && !files.contains_key(name) {
                let blob = self.run(&["cat-file", "blob", blob])?;
                if !blob.status.success() {
                    bail!("git has no content of {path} in {commit}");
                }
                let first = FirstVersion { bytes: blob.stdout, commit: commit.to_string() };
                files.insert(name.to_string(), first);
            }
        }
        Ok(files)
    }
}

/// Parses the blob and the path from a line such as `:000000 100644 000… SHA A<tab>PATH`.
fn added_file(line: &str) -> Option<(&str, &str)> {
    let (modes, path) = line.strip_prefix(':')?.split_once('\t')?;
    Some((modes.split(' ').nth(3)?, path))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_string()
}

fn is_missing(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == ErrorKind::NotFound)
}
