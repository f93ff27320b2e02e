//! Commands whose output is read.

use anyhow::{Context, bail};
use std::path::Path;
use std::process::Command;

/// Standard output of a command that must succeed.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{name} {}: {}: {}", arguments.join(" "), output.status, error.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
