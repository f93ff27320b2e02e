//! The checkout that a release is made from.

use crate::command::output;
use anyhow::Context;
use chrono::{DateTime, SecondsFormat};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A checkout of this repository.
pub struct Checkout {
    root: PathBuf,
    /// When its commit was made, in Unix seconds: the time of every file in the release.
    pub time: u64,
    /// The commit, if git knows one.
    pub commit: Option<String>,
}

impl Checkout {
    /// The one that this program was built from.
    pub fn here() -> anyhow::Result<Checkout> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let git =
            |arguments: &[&str]| output(Command::new("git").args(arguments).current_dir(&root));
        let commit = git(&["rev-parse", "HEAD"]).ok().map(|text| text.trim().to_string());
        // A source archive has no git; its builder names the time.
        let time = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(time) => time,
            Err(_) => git(&["log", "-1", "--format=%ct"])
                .context("no git to ask for the time of the commit; set SOURCE_DATE_EPOCH")?,
        };
        let time = time.trim().parse().context("SOURCE_DATE_EPOCH must be Unix seconds")?;
        Ok(Checkout { root, time, commit })
    }

    /// Its time, in RFC 3339.
    pub fn timestamp(&self) -> String {
        let time = i64::try_from(self.time).ok().and_then(|time| DateTime::from_timestamp(time, 0));
        time.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
    }

    /// Its directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo puts what it builds.
    pub fn target_directory(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or(self.root.join("target"), PathBuf::from)
    }

    /// Where a release is written.
    pub fn dist_directory(&self) -> PathBuf {
        self.target_directory().join("dist")
    }

    /// Cargo, run here.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// A file of it.
    pub fn read(&self, name: &str) -> anyhow::Result<Vec<u8>> {
        std::fs::read(self.root.join(name)).with_context(|| format!("cannot read {name}"))
    }
}
