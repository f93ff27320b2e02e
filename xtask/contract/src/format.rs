//! Code as rustfmt writes it.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// The style, which is that of this repository.
const STYLE: [&str; 4] = ["--edition", "2024", "--config", "use_small_heuristics=Max"];

/// The code, formatted.
pub fn format(code: &str) -> io::Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(STYLE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| {
            io::Error::new(
                error.kind(),
                format!(
                    "rustfmt cannot be run: {error}; `rustup component add rustfmt` installs it"
                ),
            )
        })?;
    // It reads all before it writes.
    if let Some(mut stdin) = rustfmt.stdin.take() {
        stdin.write_all(code.as_bytes())?;
    }
    let output = rustfmt.wait_with_output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("rustfmt refuses the generated code: {reason}")));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}
