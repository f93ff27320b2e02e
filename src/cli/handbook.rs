//! The operator's handbook: Markdown in the program, so that it is on the machine where it is
//! needed.

use anyhow::Context;
use clap::{Args, ValueEnum};
use std::io::Write;

/// Arguments of `handbook`.
#[derive(Args, Debug)]
pub struct HandbookArgs {
    /// Page to print; without it, the list of pages
    page: Option<Page>,
    /// Section of the page to print, such as an alert of the runbook
    section: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Page {
    /// How a server behaves: metrics, TLS, proxy, data directory, stopping
    Operating,
    /// What to do when an alert fires, with the commands
    Runbook,
    /// Every field of the log, and every event
    Log,
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
            Page::Runbook => include_str!("../handbook/runbook.md"),
            Page::Log => include_str!("../handbook/log.md"),
            Page::Replicas => include_str!("../handbook/replicas.md"),
            Page::Containers => include_str!("../handbook/containers.md"),
            Page::Settings => include_str!("../handbook/settings.md"),
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
        Ok(writeln!(out, "{}", text.trim_end())?)
    }
}

/// The section of this name, with its heading.
fn section<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let found = text.split_once(&format!("\n## {name}\n")).map(|(before, _)| before.len() + 1);
    let section = found.and_then(|start| text.get(start..)).with_context(|| {
        let names = text.lines().filter_map(|line| line.strip_prefix("## "));
        format!("there is no section {name:?}. There are: {}", names.collect::<Vec<_>>().join(", "))
    })?;
    Ok(section.split_once("\n\n## ").map_or(section.trim_end(), |(own, _)| own))
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for value in Page::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "store-orders handbook {:<11} {help}", value.get_name())?;
    }
    Ok(())
}
