//! `store-orders`: hands the command line to the library and its outcome to the
//! shell. It decides nothing but how an error looks.

use anstyle::{AnsiColor, Style};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use store_orders::cli::{self, Invocation, Refusal};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let outcome = match Invocation::read(std::env::args_os()) {
        // Shows the help that was asked for, or ends with status 2.
        Err(Refusal::CommandLine(error)) => error.exit(),
        Err(Refusal::Settings(error)) => Err(error.into()),
        Ok(invocation) => invocation.run(&mut out).and_then(|()| Ok(out.flush()?)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output has seen enough: `store-orders orders list | head`.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // With standard error gone too, the exit status alone must do.
            let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {error:#}");
            cli::exit_code(&error)
        }
    }
}
