//! Exit codes of the developer's tools: 2 if a tool could not do its work.

use std::io::Write;
use std::process::ExitCode;

/// Returns the exit code for a tool's result. An error means that the tool could not do its work,
/// so this function prints the error and returns 2.
pub fn exit_code(result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Ignore a failure to print, because the exit status reports the error as well.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}
