//! Checks that the tools for packing a release are installed. [`output`] runs a command and returns
//! its output.

use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// A command that succeeds if the tool is installed, and the command that installs the tool.
/// `.ci/run` pins the cargo tools' versions.
const TOOLS: [(&[&str], &str); 3] = [
    (&["buildah", "--version"], "apt-get install buildah"),
    (&["cargo", "about", "--version"], "cargo install --locked cargo-about --features cli"),
    (&["cargo", "cyclonedx", "--version"], "cargo install --locked cargo-cyclonedx"),
];

pub fn check() -> anyhow::Result<()> {
    let error_of = |command: &&[&str]| {
        let (program, arguments) = command.split_first()?;
        output(Command::new(program).args(arguments)).err()
    };
    let missing: Vec<String> = TOOLS
        .iter()
        .filter(|(command, _)| error_of(command).is_some())
        .map(|(_, install)| format!("  {install}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("a release needs tools that are missing here:\n{}", missing.join("\n"))
}

pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{name} {}: {}: {}", arguments.join(" "), output.status, error.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
