//! The tools of the judges: where they are, and how they come there.

use crate::repository::Repository;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is pinned, in this repository.
const PINS: [&str; 4] = ["requirements.txt", "package.json", "package-lock.json", ".npmrc"];
/// Says what was installed, so that it is done again only after a change.
const STAMP: &str = "installed";

/// The installed tools.
pub struct Tools {
    /// `tests/judges`.
    sources: PathBuf,
    /// `target/judges`, where everything is installed and every judge works.
    place: PathBuf,
}

impl Tools {
    /// Those of a checkout.
    pub fn of(repository: &Repository) -> Tools {
        Tools {
            sources: repository.root().join("tests/judges"),
            place: repository.root().join("target/judges"),
        }
    }

    /// A file of `tests/judges`.
    pub fn source(&self, name: &str) -> PathBuf {
        self.sources.join(name)
    }

    /// A file or directory of `target/judges`.
    pub fn place(&self, name: &str) -> PathBuf {
        self.place.join(name)
    }

    /// A command written in Python.
    pub fn python(&self, name: &str) -> Command {
        self.command(self.place.join("venv/bin").join(name))
    }

    /// A command written for Node.
    pub fn node(&self, name: &str) -> Command {
        let mut command = self.command(self.place.join("node_modules/.bin").join(name));
        command.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        command
    }

    /// Any other command, run where the judges work.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.place).env("NO_COLOR", "1");
        command
    }

    /// Fails if what is pinned is not what is installed.
    pub fn check(&self) -> anyhow::Result<()> {
        let stamp = std::fs::read_to_string(self.place(STAMP)).unwrap_or_default();
        if stamp != self.pinned()? {
            bail!(
                "the tools that tests/judges pins are not installed in target/judges; \
                 `cargo xtask judge --install` does it, with python3 (3.11 or later, with venv) and \
                 npm (10 or later, with Node 20.19 or later)"
            );
        }
        Ok(())
    }

    /// Installs what is pinned, unless it is installed.
    pub fn install(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.check().is_ok() {
            writeln!(out, "target/judges holds what tests/judges pins.")?;
            return Ok(());
        }
        std::fs::create_dir_all(&self.place)?;
        for name in PINS {
            std::fs::copy(self.source(name), self.place(name))
                .with_context(|| format!("cannot copy tests/judges/{name}"))?;
        }
        writeln!(out, "Installing the judges' tools in target/judges …")?;
        out.flush()?;
        let venv = ["-m", "venv", "--clear", "venv"];
        done(self.command("python3").args(venv))?;
        let pip = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
        done(self.python("pip").args(pip).args(["--requirement", "requirements.txt"]))?;
        let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        done(self.command("npm").args(npm))?;
        std::fs::write(self.place(STAMP), self.pinned()?)?;
        Ok(())
    }

    fn pinned(&self) -> anyhow::Result<String> {
        let read = |name: &str| {
            std::fs::read_to_string(self.source(name))
                .with_context(|| format!("cannot read tests/judges/{name}"))
        };
        PINS.into_iter().map(read).collect()
    }
}

/// Runs a command that has to succeed.
fn done(command: &mut Command) -> anyhow::Result<()> {
    let name = Path::new(command.get_program()).display().to_string();
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

/// Runs a judge: nothing if it is content, what it says if not.
pub fn said(command: &mut Command) -> anyhow::Result<Option<String>> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if output.status.success() {
        return Ok(None);
    }
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Some(format!("{name}: {}\n{}", output.status, text.concat())))
}
