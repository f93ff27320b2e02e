//! Prints the operator's handbook. The program contains it as Markdown, so that it is on every
//! machine that needs it.

use super::interrupts::Interrupts;
use anyhow::Context;
use clap::{Args, ValueEnum};
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

/// Arguments of `handbook`.
#[derive(Args, Debug)]
pub struct HandbookArgs {
    /// Page to print; without it, the list of pages
    page: Option<HandbookPage>,
    /// Section of the page to print, such as an alert of the runbook
    section: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HandbookPage {
    /// From nothing to a server with TLS, backups and alerts
    OneMachine,
    /// Server behaviour: metrics, TLS, proxy, data directory, stopping
    Operating,
    /// Steps after an alert, with the commands
    Runbook,
    /// Every field of the log, and every event
    Log,
    /// Several servers on one PostgreSQL
    Replicas,
    /// The image, and an example with Compose
    Containers,
    /// A deployment on Kubernetes, with backups
    Kubernetes,
    /// Steps for each version, and for going back
    Upgrading,
    /// Sources of settings, and which to set first
    Settings,
}

impl HandbookPage {
    fn text(self) -> &'static str {
        match self {
            HandbookPage::OneMachine => include_str!("../handbook/one-machine.md"),
            HandbookPage::Operating => include_str!("../handbook/operating.md"),
            HandbookPage::Runbook => include_str!("../handbook/runbook.md"),
            HandbookPage::Log => include_str!("../handbook/log.md"),
            HandbookPage::Replicas => include_str!("../handbook/replicas.md"),
            HandbookPage::Containers => include_str!("../handbook/containers.md"),
            HandbookPage::Kubernetes => include_str!("../handbook/kubernetes.md"),
            HandbookPage::Upgrading => include_str!("../handbook/upgrading.md"),
            HandbookPage::Settings => include_str!("../handbook/settings.md"),
        }
    }
}

impl HandbookArgs {
    pub(super) fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Some(page) = self.page else { return list(out) };
        let text = match &self.section {
            Some(name) => section(page.text(), name)?,
            None => page.text(),
        };
        let text = format!("{}\n", text.trim_end());
        match std::io::stdout().is_terminal() {
            true => show_on_terminal(&text, out),
            false => Ok(out.write_all(text.as_bytes())?),
        }
    }
}

/// Returns the section of this name, with its heading.
fn section<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let start = text.split_once(&format!("\n## {name}\n")).map(|(before, _)| before.len() + 1);
    let section = start.and_then(|start| text.get(start..)).with_context(|| {
        let names = text.lines().filter_map(|line| line.strip_prefix("## "));
        format!("there is no section {name:?}. There are: {}", names.collect::<Vec<_>>().join(", "))
    })?;
    Ok(section.split_once("\n\n## ").map_or(section.trim_end(), |(section, _)| section))
}

/// Shows a text in the pager that `PAGER` names, by default `less`, as git does. If the pager
/// cannot be started, writes the text to `out`.
fn show_on_terminal(text: &str, out: &mut dyn Write) -> anyhow::Result<()> {
    let pager = std::env::var("PAGER").unwrap_or_default();
    let pager = if pager.trim().is_empty() { "less" } else { &*pager };
    let mut command = Command::new("sh");
    // With `F`, less exits at once if the text fits on one screen.
    command.args(["-c", pager]).env("LESS", std::env::var("LESS").unwrap_or("FRX".to_string()));
    let Ok(mut pager_process) = command.stdin(Stdio::piped()).spawn() else {
        return Ok(out.write_all(text.as_bytes())?);
    };
    // The terminal sends Ctrl-C to the pager and also to this process. This process must wait for
    // the pager, so it does not end at the first Ctrl-C.
    let _interrupts = Interrupts::watch();
    // If the user leaves the pager early, the pipe closes and the write fails with `BrokenPipe`.
    // This is not an error.
    let result =
        pager_process.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    match pager_process.wait()?.code() {
        // The shell exits with these statuses if it cannot start the pager.
        Some(126 | 127) => Ok(out.write_all(text.as_bytes())?),
        _ => match result {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        },
    }
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for value in HandbookPage::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "store-orders handbook {:<11} {help}", value.get_name())?;
    }
    Ok(())
}
