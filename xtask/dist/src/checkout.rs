//! The checkout from which a release is made.

use crate::tools::output;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Checkout {
    pub root: PathBuf,
    /// `SOURCE_DATE_EPOCH` if set, otherwise the time of the commit, in Unix seconds. Files in the
    /// archive and the image have this modification time.
    pub time: String,
    /// The hash of the commit; empty if the checkout is not a git repository.
    pub commit: String,
}

impl Checkout {
    /// Returns the checkout from which this program was built.
    pub fn here() -> anyhow::Result<Checkout> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let git = |arguments: &[&str]| {
            let text = output(Command::new("git").args(arguments).current_dir(&root))?;
            Ok::<_, anyhow::Error>(text.trim().to_string())
        };
        // A checkout from a source archive has no git history, so its user must set
        // `SOURCE_DATE_EPOCH`.
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => git(&["log", "-1", "--format=%ct"])
                .context("no git to ask for the time of the commit; set SOURCE_DATE_EPOCH")?,
        };
        let commit = git(&["rev-parse", "HEAD"]).unwrap_or_default();
        Ok(Checkout { root, time, commit })
    }

    pub fn target_directory(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or(self.root.join("target"), PathBuf::from)
    }

    /// Returns a command that runs in the checkout. Sets `SOURCE_DATE_EPOCH`, because some tools
    /// otherwise write the current time into files.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("SOURCE_DATE_EPOCH", &self.time);
        command
    }
}
