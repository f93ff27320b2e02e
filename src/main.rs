//! `store-orders`: hands the command line to the library and its outcome to the
//! shell. It decides nothing but how an error looks.

use anstyle::{AnsiColor, Style};
use clap::Parser;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use store_orders::cli::{self, Cli};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    // Ends by itself, with status 2, where the command line is wrong.
    let cli = Cli::parse();
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let outcome = cli.run(&mut out).and_then(|()| Ok(out.flush()?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough: `store-orders orders list | head`.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error gone too, the exit status alone must do.
            let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {error:#}");
            ExitCode::FAILURE
        }
    }
}
