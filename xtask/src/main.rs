//! `cargo xtask`: hands the command line to the library and its outcome to
//! the shell. It decides nothing.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;
use xtask::Outcome;
use xtask::cli::Cli;

fn main() -> ExitCode {
    // Both strip the colours where they are no terminal or NO_COLOR is set.
    let mut out = anstream::stdout();
    let outcome = match Cli::parse().run(&mut out) {
        Ok(outcome) => outcome,
        Err(error) => {
            // With standard error gone too, the exit code alone must do.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            Outcome::CouldNotRun
        }
    };
    outcome.into()
}
