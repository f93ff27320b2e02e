//! `cargo xtask browser`: tests the public pages in Chromium. Runs the script
//! `tests/external_checks/browser/session.ts` once for each requested view.

use crate::Outcome;
use crate::check_report::CheckReport;
use crate::external_checks::{FIRST_ORDER, LiveServer, Tools, lines, output, output_lines};
use crate::repository::Repository;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::PathBuf;
use testbed::Program;

const VIEWS: [&str; 8] = [
    "negative-controls",
    "plain",
    "settings",
    "desktop-light",
    "desktop-dark",
    "tablet-light",
    "phone-light",
    "phone-dark",
];

/// The contact that the server with `SETTINGS` shows. The browser session looks for this name.
const CONTACT_NAME: &str = "Paws and Claws";
const SETTINGS: [&str; 6] = [
    "--production-url",
    "https://orders.pets.test/v1",
    "--contact-name",
    CONTACT_NAME,
    "--contact-url",
    "https://pets.test/support",
];

/// The modules that the script `session.ts` imports.
const MODULES: [&str; 5] =
    ["api_document.ts", "negative_controls.ts", "reading.ts", "until.ts", "watch.ts"];

fn claim(view: &str) -> String {
    match view {
        "negative-controls" => {
            "broken words, cut lines, faint text, exceptions and requests to another server are \
             found"
                .to_string()
        }
        "plain" => {
            "without JavaScript: the operations of both versions, the guide and the addresses \
                    of its errors, nothing wider than a phone, in light and dark mode"
                .to_string()
        }
        "settings" => "the operator's contact and the page's own address are shown, and no example"
            .to_string(),
        view => format!(
            "{view}: the guide, operations, deprecation, headers, a request from the page, the \
             changelog; whole words, nothing cut, no finding of axe, open fields, badges, the \
             addresses of errors, the search, for both versions; no console error, no request to another server"
        ),
    }
}

#[derive(Clone, Debug, clap::Args)]
pub struct BrowserArgs {
    /// Test only these views, instead of all
    #[arg(value_parser = VIEWS, value_name = "VIEW", default_values = VIEWS, hide_default_value = true)]
    pub views: Vec<String>,
    /// Save screenshots as PNG files in this directory
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
}

/// Runs the browser session in the given views. The session exits with 1 if it has findings, and
/// with 2 if Chromium does not start.
pub fn browse(
    arguments: &BrowserArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let chromium = std::env::split_paths(&path).map(|directory| directory.join("chromium"));
    let chromium = chromium.into_iter().find(|file| file.is_file());
    let chromium =
        chromium.context("chromium not found on PATH; on Debian: apt-get install chromium")?;
    let tools = Tools::new(repository);
    tools.check_pinned()?;
    if let Some(directory) = &arguments.pictures {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let directory = tools.copy_typescript("browser")?;
    for module in MODULES {
        let source = tools.source("browser").join(module);
        std::fs::copy(&source, directory.join(module))
            .with_context(|| format!("cannot copy {}", source.display()))?;
    }
    let errors = output_lines(&mut tools.compile_typescript(&directory))?;
    if !errors.is_empty() {
        bail!("the session does not compile\n{}", errors.join("\n"));
    }
    let program = Program::build(repository.root())?;
    let server = LiveServer::start(&program)?;
    let set = LiveServer::start_with(&program, &SETTINGS)?;
    let key = server.issue_key("browser", 1_000)?;
    let mut report = CheckReport::new(out);
    let run = |view: &str| -> anyhow::Result<Vec<String>> {
        let mut session = tools.command("node");
        session.arg(directory.join("built/session.js")).arg(view);
        let read = if view == "settings" { &set } else { &server };
        session.env("CHROMIUM", &chromium).env("BASE_URL", read.base_url()).env("KEY", &key);
        session.env("FIRST_ORDER", FIRST_ORDER.to_string());
        session.env("CONTACT_NAME", CONTACT_NAME);
        if let Some(pictures) = &arguments.pictures {
            session.env("PICTURES", std::path::absolute(pictures)?);
        }
        let output = output(&mut session)?;
        match output.status.code() {
            Some(0) => Ok(Vec::new()),
            Some(1) => Ok(read.with_log(lines(&session, &output), &[&key])),
            _ => bail!(lines(&session, &output).join("\n")),
        }
    };
    report.add_each(&arguments.views, |view| (claim(view), run(view)))?;
    Ok(report.finish("views")?)
}
