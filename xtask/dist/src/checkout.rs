//! The checkout that a release is made from.

use crate::tools::output;
use anyhow::{Context, ensure};
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

    /// Fails unless this commit, unchanged, is the one that both sets of tests have passed.
    pub fn check_passed(&self) -> anyhow::Result<()> {
        let changed = output(self.command("git").args(["status", "--porcelain"]))
            .context("a release is made from a commit, and git knows none here")?;
        ensure!(changed.is_empty(), "these files are not as in the commit:\n{changed}");
        for (name, command) in [("change", ".ci/run"), ("nightly", ".ci/run nightly")] {
            let passed = std::fs::read_to_string(self.root.join("target/passed").join(name));
            let is_this = passed.is_ok_and(|commit| commit.trim() == self.commit);
            ensure!(is_this, "commit {} has not passed `{command}` here", self.commit);
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_release_takes_a_commit_that_passed_both_and_is_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let git = |arguments: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@store.example"];
            let mut git = Command::new("git");
            output(git.args(who).args(arguments).current_dir(directory.path())).unwrap()
        };
        fs::write(file(".gitignore"), "/target\n").unwrap();
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "a"]);
        let commit = git(&["rev-parse", "HEAD"]).trim().to_string();
        let root = directory.path().to_path_buf();
        let checkout = Checkout { root, time: String::new(), commit: commit.clone() };
        let refused = || checkout.check_passed().unwrap_err().to_string();

        fs::create_dir_all(file("target/passed")).unwrap();
        fs::write(file("target/passed/nightly"), &commit).unwrap();
        assert_eq!(refused(), format!("commit {commit} has not passed `.ci/run` here"));
        fs::write(file("target/passed/change"), format!("{commit}\n")).unwrap();
        checkout.check_passed().unwrap();
        fs::write(file("target/passed/nightly"), "0123\n").unwrap();
        assert_eq!(refused(), format!("commit {commit} has not passed `.ci/run nightly` here"));
        fs::write(file("new"), "").unwrap();
        assert!(refused().ends_with("?? new\n"), "{}", refused());
    }
}
