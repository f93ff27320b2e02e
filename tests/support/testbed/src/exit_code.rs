//! The end of a program that tries or makes something.

use std::io::Write;
use std::process::ExitCode;

/// The exit code of what was run; after an error, which is printed, 2.
pub fn exit_code(ran: anyhow::Result<u8>) -> ExitCode {
    match ran {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // If standard error is closed too, the exit status has to do.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}
