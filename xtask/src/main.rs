//! `cargo xtask`: runs the command and turns its outcome into an exit code.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use xtask::Outcome;
use xtask::cli::Cli;

fn main() -> ExitCode {
    // Both strip the colours unless they are a terminal, or if NO_COLOR is set.
    let mut out = anstream::stdout();
    let outcome = match Cli::parse().run(&mut out) {
        Ok(outcome) => outcome,
        Err(error) => {
            // If standard error is closed too, the exit code has to do.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            Outcome::CouldNotRun
        }
    };
    outcome.into()
}
