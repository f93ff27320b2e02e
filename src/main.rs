//! `store-orders`: runs the command line, prints its error and sets the exit
//! status.

use anstyle::{AnsiColor, Style};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use store_orders::cli::{self, Invocation, InvocationError};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let outcome = match Invocation::read(std::env::args_os()) {
        // Prints the help that was asked for, or exits with status 2.
        Err(InvocationError::CommandLine(error)) => error.exit(),
        Err(InvocationError::Settings(error)) => Err(error.into()),
        Ok(invocation) => invocation.run(&mut out).and_then(|()| Ok(out.flush()?)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Such as `store-orders orders list | head`.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed too, the exit status is all there is.
            let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {error:#}");
            cli::exit_code(&error)
        }
    }
}
