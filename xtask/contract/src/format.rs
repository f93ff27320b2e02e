//! Code as rustfmt writes it.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

/// A file of a package: its name, and what it says.
pub type File = (String, String);

/// The style, which is that of this repository.
const STYLE: [&str; 4] = ["--edition", "2024", "--config", "use_small_heuristics=Max"];

/// The code, formatted.
pub fn format(code: &str) -> io::Result<String> {
    let mut rustfmt = rustfmt();
    let mut rustfmt =
        rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(cannot_run)?;
    // It reads all before it writes.
    if let Some(mut stdin) = rustfmt.stdin.take() {
        stdin.write_all(code.as_bytes())?;
    }
    let output = accepted(rustfmt.wait_with_output()?)?;
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// Files of code, formatted by one process.
pub fn format_files(files: Vec<File>) -> io::Result<Vec<File>> {
    let directory = tempfile::tempdir()?;
    let mut rustfmt = rustfmt();
    rustfmt.current_dir(directory.path());
    for (name, text) in &files {
        let path = directory.path().join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
        rustfmt.arg(name);
    }
    accepted(rustfmt.output().map_err(cannot_run)?)?;
    let formatted = files.into_iter().map(|(name, _)| {
        let text = std::fs::read_to_string(directory.path().join(&name))?;
        Ok((name, text))
    });
    formatted.collect()
}

fn rustfmt() -> Command {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(STYLE).stderr(Stdio::piped());
    rustfmt
}

fn cannot_run(error: io::Error) -> io::Error {
    let reason =
        format!("rustfmt cannot be run: {error}; `rustup component add rustfmt` installs it");
    io::Error::new(error.kind(), reason)
}

fn accepted(output: Output) -> io::Result<Output> {
    if output.status.success() {
        return Ok(output);
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("rustfmt refuses the generated code: {reason}")))
}
