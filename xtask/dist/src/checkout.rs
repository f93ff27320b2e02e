//! The checkout that a release is made from.

use crate::tools::output;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A checkout of this repository.
pub struct Checkout {
    /// Its directory.
    pub root: PathBuf,
    /// When its commit was made, in Unix seconds: the time of every file in the release.
    pub time: String,
    /// The commit, empty if git knows none.
    pub commit: String,
}

impl Checkout {
    /// The one that this program was built from.
    pub fn here() -> anyhow::Result<Checkout> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let git = |arguments: &[&str]| {
            let text = output(Command::new("git").args(arguments).current_dir(&root))?;
            Ok::<_, anyhow::Error>(text.trim().to_string())
        };
        // A source archive has no git; its builder names the time.
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => git(&["log", "-1", "--format=%ct"])
                .context("no git to ask for the time of the commit; set SOURCE_DATE_EPOCH")?,
        };
        let commit = git(&["rev-parse", "HEAD"]).unwrap_or_default();
        Ok(Checkout { root, time, commit })
    }

    /// Where cargo puts what it builds.
    pub fn target_directory(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or(self.root.join("target"), PathBuf::from)
    }

    /// A command, run here.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("SOURCE_DATE_EPOCH", &self.time);
        command
    }
}
