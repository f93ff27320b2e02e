//! `cargo run --package contract`: the code of a document, also while `api` does not compile.

use clap::Parser;
use contract::ContractArgs;
use std::io::Write;
use std::process::ExitCode;

/// Write the Rust code of a server from an OpenAPI document.
#[derive(Debug, Parser)]
#[command(
    after_help = "Exit status: 0 written, 1 the document is refused, 2 it could not run",
    name = "contract"
)]
struct Cli {
    #[command(flatten)]
    arguments: ContractArgs,
}

fn main() -> ExitCode {
    match Cli::parse().arguments.run(&mut anstream::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}
