//! The operator's handbook: Markdown in the program, so that it is on the machine where it is
//! needed.

use clap::{Args, ValueEnum};
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// Arguments of `handbook`.
#[derive(Args, Debug)]
pub struct HandbookArgs {
    /// Page to print; without it, the list of pages
    page: Option<Page>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Page {
    /// What to do when an alert fires; log, TLS, proxy, data directory, stopping
    Operating,
    /// Several servers on one PostgreSQL
    Replicas,
    /// The image, and an example with Compose
    Containers,
    /// Where settings come from, and which to set first
    Settings,
}

impl Page {
    fn text(self) -> &'static str {
        match self {
            Page::Operating => include_str!("../handbook/operating.md"),
            Page::Replicas => include_str!("../handbook/replicas.md"),
            Page::Containers => include_str!("../handbook/containers.md"),
            Page::Settings => include_str!("../handbook/settings.md"),
        }
    }
}

impl HandbookArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.page {
            Some(page) if std::io::stdout().is_terminal() => show_on_terminal(page.text(), out),
            Some(page) => Ok(out.write_all(page.text().as_bytes())?),
            None => list(out),
        }
    }
}

/// Shows a text in the pager that PAGER names, as git does. Without one it is written.
fn show_on_terminal(text: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let pager = std::env::var("PAGER").unwrap_or_default();
    let pager = if pager.trim().is_empty() { "less" } else { &*pager };
    let mut command = Command::new("sh");
    // A text of one screen is shown without waiting for a key.
    command.args(["-c", pager]).env("LESS", std::env::var("LESS").unwrap_or("FRX".to_string()));
    let Ok(mut shown) = command.stdin(Stdio::piped()).spawn() else {
        return Ok(out.write_all(text.as_bytes())?);
    };
    // A reader who leaves the pager early closes the pipe.
    let written = shown.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    match shown.wait()?.code() {
        // The shell's status for a program that is not there.
        Some(126 | 127) => Ok(out.write_all(text.as_bytes())?),
        _ => match written {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        },
    }
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for value in Page::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "store-orders handbook {:<11} {help}", value.get_name())?;
    }
    Ok(())
}
