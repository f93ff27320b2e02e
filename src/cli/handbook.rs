//! Prints the operator's handbook. The program contains it as Markdown, so every machine that runs
//! the program has it.

use clap::{Args, ValueEnum};
use std::io::Write;

#[derive(Args, Debug)]
pub struct HandbookArgs {
    /// Page to print; without this argument, the command lists the pages
    page: Option<HandbookPage>,
    /// Section to print: its heading, or some words of the heading
    section: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HandbookPage {
    /// From scratch to a server with TLS, backups and alerts
    OneMachine,
    /// Server behavior: metrics, TLS, proxy, data directory, stopping
    Operating,
    /// Steps after an alert, with the commands
    Runbook,
    /// Every field of the log, and every event
    Log,
    /// Several servers on one PostgreSQL
    Replicas,
    /// The container image, and an example with Compose
    Containers,
    /// A deployment on Kubernetes, with backups
    Kubernetes,
    /// Steps to upgrade to each version, and to go back
    Upgrading,
    /// Sources of settings, and the settings to set first
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
        let text = match &*self.section {
            [] => page.text(),
            words => section(page.text(), &words.join(" "))?,
        };
        Ok(writeln!(out, "{}", text.trim_end())?)
    }
}

/// Returns the section with the heading `name`, or else the only section whose heading contains
/// each word of `name`. Parts of words also match. Ignores letter case.
fn section<'a>(text: &'a str, name: &str) -> anyhow::Result<&'a str> {
    let headings = || text.lines().filter_map(|line| line.strip_prefix("## "));
    let words = name.to_lowercase();
    let has_words = |heading: &&str| {
        let heading = heading.to_lowercase();
        words.split_whitespace().all(|word| heading.contains(word))
    };
    let same = headings().find(|heading| heading.to_lowercase() == words);
    let matching = same.map_or_else(|| headings().filter(has_words).collect(), |same| vec![same]);
    let [heading] = *matching else {
        let (problem, choice) = match matching.is_empty() {
            true => ("there is no section", headings().collect()),
            false => ("there is more than one section", matching),
        };
        anyhow::bail!("{problem} {name:?}. There are: {}", choice.join(", "))
    };
    let start =
        text.split_once(&format!("\n## {heading}\n")).map_or(0, |(before, _)| before.len() + 1);
    let section = text.get(start..).unwrap_or(text);
    Ok(section.split_once("\n\n## ").map_or(section.trim_end(), |(section, _)| section))
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for value in HandbookPage::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "store-orders handbook {:<11} {help}", value.get_name())?;
    }
    Ok(())
}
