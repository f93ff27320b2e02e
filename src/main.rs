//! The program `store-orders`. Runs the command that the command line selects, prints its error,
//! and sets the exit status.

use anstyle::{AnsiColor, Style};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::time::SystemTime;
use store_orders::cli::{self, FailureCode, Invocation, InvocationError};
use store_orders::log::failure_line;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout());
    let outcome = match Invocation::read(std::env::args_os()) {
        Err(InvocationError::CommandLine(error)) => return refuse(&error, &mut out),
        Err(InvocationError::Settings(error)) => {
            show_refusal(FailureCode::InvalidSettings, &error.to_string(), &mut out);
            Err(error.into())
        }
        Ok(invocation) => invocation.run(&mut out).and_then(|()| Ok(out.flush()?)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A closed output is not a failure. For example, `head` closes it early in `store-orders
        // orders list | head`.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("{error:#}");
            if cli::writes_log(std::env::args_os()) {
                log_failure(&text);
            } else {
                let text = cli::without_secrets(&text);
                let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {text}");
            }
            cli::exit_code(&error)
        }
    }
}

/// Prints the requested help or the mistake in the command line. `serve` logs an invalid value
/// instead of printing the mistake.
fn refuse(error: &clap::Error, out: &mut impl Write) -> ExitCode {
    if !error.use_stderr() {
        error.exit();
    }
    match cli::wrong_value(error).filter(|_| cli::writes_log(std::env::args_os())) {
        Some(text) => log_failure(&text),
        None => {
            show_refusal(FailureCode::InvalidCommandLine, &error.render().to_string(), out);
            let text = cli::without_secrets(&error.render().ansi().to_string());
            let _ = write!(anstream::stderr(), "{text}");
        }
    }
    ExitCode::from(2)
}

/// Logs why a server could not start or failed later. Ignores a closed standard error, because the
/// exit status also shows the failure.
fn log_failure(text: &str) {
    let line = failure_line(SystemTime::now(), &cli::without_secrets(text));
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints the error as JSON if the command line has `--json`. Ignores errors of the output, such as
/// a closed standard output, because the caller also writes the text to standard error.
fn show_refusal(code: FailureCode, text: &str, out: &mut impl Write) {
    let _ = cli::show_refusal(code, text, out);
}
