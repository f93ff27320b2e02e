//! Installs and runs the tools that `tests/external_checks` pins.

use crate::repository::Repository;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The files of `tests/external_checks` that decide what is installed: the pins of the tools, and
/// the settings of npm.
const PINS: [&str; 4] = ["requirements.txt", "package.json", "package-lock.json", ".npmrc"];
/// A file in `target/external_checks`. It contains a copy of the pins of the installed tools.
const STAMP: &str = "installed";

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Need {
    /// Tools pinned in `tests/external_checks`.
    Pinned,
    /// A program, and the Debian package that contains it.
    Program(&'static str, &'static str),
}

pub struct Tools {
    sources: PathBuf,
    installed: PathBuf,
}

impl Tools {
    /// Returns the tools pinned in `tests/external_checks`. They are installed and run in
    /// `target/external_checks`.
    pub fn new(repository: &Repository) -> Tools {
        Tools {
            sources: repository.root().join("tests/external_checks"),
            installed: repository.root().join("target/external_checks"),
        }
    }

    pub fn source(&self, name: &str) -> PathBuf {
        self.sources.join(name)
    }

    /// Returns a path in `target/external_checks`.
    pub fn installed(&self, name: &str) -> PathBuf {
        self.installed.join(name)
    }

    /// Returns a command for a program that pip has installed, such as `mypy`.
    pub fn python(&self, name: &str) -> Command {
        self.command(self.installed.join("venv/bin").join(name))
    }

    /// Returns a command for a program that npm has installed, such as `tsc`.
    pub fn node(&self, name: &str) -> Command {
        let mut command = self.command(self.installed.join("node_modules/.bin").join(name));
        command.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
        command
    }

    /// Returns a command with the working directory `target/external_checks`. The program need not
    /// be installed there.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.installed).env("NO_COLOR", "1");
        command
    }

    /// Copies a TypeScript program into a directory in `target/external_checks`, so that the
    /// program finds the packages in `target/external_checks/node_modules`.
    pub fn copy_typescript(&self, name: &str) -> anyhow::Result<PathBuf> {
        let directory = self.installed(name);
        std::fs::create_dir_all(&directory)?;
        for file in ["session.ts", "tsconfig.json"] {
            std::fs::copy(self.source(name).join(file), directory.join(file))
                .with_context(|| format!("cannot copy tests/external_checks/{name}/{file}"))?;
        }
        std::fs::write(directory.join("package.json"), "{ \"type\": \"module\" }\n")?;
        Ok(directory)
    }

    /// Returns the command that type-checks a directory of TypeScript. The command also writes
    /// JavaScript, unless `tsconfig.json` sets `noEmit`.
    pub fn compile_typescript(&self, directory: &Path) -> Command {
        let mut command = self.node("tsc");
        command.arg("--strict").arg("--project").arg(directory);
        command
    }

    pub(super) fn check(&self, need: &Need) -> anyhow::Result<()> {
        match need {
            Need::Pinned => self.check_pinned(),
            Need::Program(program, package) => Command::new(program)
                .arg("--version")
                .output()
                .map(drop)
                .with_context(|| format!("{program} is missing: apt-get install {package}")),
        }
    }

    pub fn check_pinned(&self) -> anyhow::Result<()> {
        let stamp = std::fs::read_to_string(self.installed(STAMP)).unwrap_or_default();
        if stamp != self.pins()? {
            bail!(
                "the tools pinned in tests/external_checks are not installed in \
                 target/external_checks; `cargo xtask external-checks --install` installs them, \
                 with npm and with python3 and its venv, of the versions that .ci/run looks for"
            );
        }
        Ok(())
    }

    pub fn install(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        if self.check_pinned().is_ok() {
            writeln!(
                out,
                "The tools of tests/external_checks are installed in target/external_checks."
            )?;
            return Ok(());
        }
        std::fs::create_dir_all(&self.installed)?;
        for name in PINS {
            std::fs::copy(self.source(name), self.installed(name))
                .with_context(|| format!("cannot copy tests/external_checks/{name}"))?;
        }
        writeln!(out, "Installing the tools of tests/external_checks in target/external_checks …")?;
        out.flush()?;
        run(self.command("python3").args(["-m", "venv", "--clear", "venv"]))?;
        // Use `--no-deps`, because the pins include all dependencies. Use `--no-compile`, because
        // most modules are never imported.
        let pip = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
        let pip = [&pip[..], &["--no-deps", "--no-compile"]].concat();
        run(self.python("pip").args(pip).args(["--requirement", "requirements.txt"]))?;
        let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(self.command("npm").args(npm))?;
        std::fs::write(self.installed(STAMP), self.pins()?)?;
        Ok(())
    }

    fn pins(&self) -> anyhow::Result<String> {
        let read = |name: &str| {
            std::fs::read_to_string(self.source(name))
                .with_context(|| format!("cannot read tests/external_checks/{name}"))
        };
        PINS.into_iter().map(read).collect()
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = program_name(command);
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    if !status.success() {
        bail!("{name} failed: {status}");
    }
    Ok(())
}

/// Runs a tool. Returns no lines if it succeeds, otherwise its exit status and output.
pub fn output_lines(command: &mut Command) -> anyhow::Result<Vec<String>> {
    let output = output(command)?;
    Ok(if output.status.success() { Vec::new() } else { lines(command, &output) })
}

pub fn output(command: &mut Command) -> anyhow::Result<Output> {
    command.output().with_context(|| format!("cannot run {}", program_name(command)))
}

pub fn lines(command: &Command, output: &Output) -> Vec<String> {
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let lines = text.iter().flat_map(|text| text.lines()).map(str::to_string);
    [format!("{}: {}", program_name(command), output.status)].into_iter().chain(lines).collect()
}

fn program_name(command: &Command) -> String {
    Path::new(command.get_program()).display().to_string()
}
