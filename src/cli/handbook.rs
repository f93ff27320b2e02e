//! The operator's handbook: Markdown in the program, so that it is on the machine where it is
//! needed.

use clap::{Args, ValueEnum};
use std::io::Write;

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
            Some(page) => Ok(out.write_all(page.text().as_bytes())?),
            None => list(out),
        }
    }
}

fn list(out: &mut dyn Write) -> anyhow::Result<()> {
    for value in Page::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "store-orders handbook {:<11} {help}", value.get_name())?;
    }
    Ok(())
}
