//! `store-orders`: runs the command line, prints its error and sets the exit
//! status.

use anstyle::{AnsiColor, Style};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::SystemTime;
use store_orders::cli::{self, Invocation, InvocationError};
use store_orders::config::without_passwords;
use store_orders::keys::without_keys;
use store_orders::log::failure_line;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let outcome = match Invocation::read(std::env::args_os()) {
        Err(InvocationError::CommandLine(error)) => return refuse(&error),
        Err(InvocationError::Settings(error)) => Err(error.into()),
        Ok(invocation) => invocation.run(&mut out).and_then(|()| Ok(out.flush()?)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Such as `store-orders orders list | head`.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = without_secrets(&format!("{error:#}"));
            // If standard error is closed too, the exit status is all there is.
            let _ = if cli::writes_log(std::env::args_os()) {
                writeln!(io::stderr(), "{}", failure_line(SystemTime::now(), &text))
            } else {
                writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {text}")
            };
            cli::exit_code(&error)
        }
    }
}

/// Prints the help that was asked for, or why the command line is refused.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    let _ = write!(anstream::stderr(), "{}", without_secrets(&error.render().ansi().to_string()));
    ExitCode::from(2)
}

/// What a person may read: neither keys nor passwords that were given in the wrong place.
fn without_secrets(text: &str) -> String {
    without_passwords(&without_keys(text))
}
