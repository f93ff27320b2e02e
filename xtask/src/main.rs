//! `cargo xtask`, the developer's commands.

use clap::Parser;
use std::process::ExitCode;
use testbed::exit_code;
use xtask::Outcome;
use xtask::cli::Cli;

fn main() -> ExitCode {
    // `anstream` strips colors if stdout is not a terminal or NO_COLOR is set.
    exit_code(Cli::parse().run(&mut anstream::stdout()).map(Outcome::code))
}
