//! `cargo xtask browser`: the public pages in a real browser, wide and narrow,
//! light and dark, as a reader of the API goes through them.
//!
//! Fails on whatever a reader would miss, on any error in the console, and on
//! any request that leaves the server's own address.

mod demo;
mod session;
mod tour;
mod watch;

use crate::Outcome;
use crate::repository::Repository;
use anstyle::{AnsiColor, Style};
use anyhow::{Context, bail};
use demo::Demo;
use session::Session;
use std::io::Write;
use std::path::{Path, PathBuf};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// How to look.
#[derive(Clone, Debug, clap::Args)]
pub struct BrowserArgs {
    /// Save what is seen as PNG files in this directory
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
}

/// What the reader looks through.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// In CSS pixels.
    pub width: u32,
    /// In CSS pixels.
    pub height: u32,
    /// A telephone: touch, and no scroll bars.
    pub mobile: bool,
    /// What the reader's system prefers.
    pub dark: bool,
}

const fn view(width: u32, height: u32, mobile: bool, dark: bool) -> View {
    View { width, height, mobile, dark }
}

const VIEWS: [View; 4] = [
    view(1280, 900, false, false),
    view(1280, 900, false, true),
    view(390, 844, true, false),
    view(390, 844, true, true),
];

impl View {
    /// `desktop-light` and so on: in reports and in names of pictures.
    pub fn name(self) -> String {
        let width = if self.mobile { "phone" } else { "desktop" };
        format!("{width}-{}", if self.dark { "dark" } else { "light" })
    }
}

/// Builds the server, starts it and the browser, and looks.
pub fn look(
    arguments: &BrowserArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    check_tools()?;
    if let Some(directory) = &arguments.pictures {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let demo = Demo::start(repository)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(through_all_views(&demo, arguments.pictures.as_deref(), out));
    demo.stop()?;
    outcome
}

/// Names what is missing, and how to have it.
fn check_tools() -> anyhow::Result<()> {
    let tools = [session::CHROMIUM, session::DRIVER].into_iter();
    let missing: Vec<&str> = tools.filter(|name| session::program(name).is_none()).collect();
    if !missing.is_empty() {
        bail!(
            "{} not found; on Debian: apt-get install chromium chromium-driver",
            missing.join(" and ")
        );
    }
    Ok(())
}

async fn through_all_views(
    demo: &Demo,
    pictures: Option<&Path>,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Clean;
    for view in VIEWS {
        let mut session = Session::open(view, pictures).await?;
        let toured = tour::through(&mut session, demo).await;
        // What was logged up to a failure tells why.
        let watched = session.watched().await;
        session.close().await?;
        let mut findings = watched?.findings(&demo.origin());
        if let Err(missed) = toured {
            // A browser's words may hold what was typed.
            findings.push(format!("{missed:#}").replace(&demo.key, "[the key]"));
        }
        let name = view.name();
        if findings.is_empty() {
            writeln!(out, "{GOOD}ok{GOOD:#}   {name}: {}", tour::CLAIM)?;
        } else {
            outcome = Outcome::Drift;
            writeln!(out, "{BAD}fail{BAD:#} {name}")?;
            for finding in findings {
                writeln!(out, "     {finding}")?;
            }
        }
    }
    Ok(outcome)
}
