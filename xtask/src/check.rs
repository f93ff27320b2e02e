//! `cargo xtask check`: runs every check, prints every problem, sums up.
//!
//! It is given all that is compared, so tests can ask about any document. To
//! add a check, write a function and name it in `CHECKS`.

mod client;
mod document;
mod promises;
mod published;

pub use document::check_document;
pub use promises::{no_version, version_of_document};

use crate::Outcome;
use crate::published::Published;
use crate::repository::{CHANGELOG, CLIENT_CODE, DOCUMENT, Repository};
use anstyle::{AnsiColor, Style};
use serde_json::Value;
use std::io::{self, Write};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const PLACE: Style = Style::new().bold();

/// What the checks compare. What could not be had says why: the checks that
/// need it cannot run, and the others still do.
#[derive(Debug)]
pub struct Inputs {
    /// The document that the contract in Rust emits.
    pub emitted: anyhow::Result<Value>,
    /// The text of the document.
    pub document: anyhow::Result<String>,
    /// The text of the generated client, empty where there is none yet.
    pub client: anyhow::Result<String>,
    /// What was published.
    pub published: anyhow::Result<Published>,
    /// The text of the changelog.
    pub changelog: anyhow::Result<String>,
}

impl Inputs {
    /// What this program emits, and the files of a checkout.
    pub fn of(repository: &Repository) -> Self {
        Self {
            emitted: store_orders_api::document::emitted().map_err(anyhow::Error::from),
            document: repository.read(DOCUMENT),
            client: repository.read_generated(CLIENT_CODE),
            published: Published::of(repository),
            changelog: repository.read(CHANGELOG),
        }
    }
}

/// One thing that does not agree with another.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where it is.
    pub place: String,
    /// What is there, in lines.
    pub lines: Vec<String>,
    /// The file to edit or the command to run.
    pub mend: String,
}

/// A check, and what is true when it finds nothing.
struct Check {
    claim: fn(&Inputs) -> String,
    run: fn(&Inputs) -> anyhow::Result<Vec<Problem>>,
}

const CHECKS: [Check; 4] = [
    Check { claim: document::claim, run: document::run },
    Check { claim: client::claim, run: client::run },
    Check { claim: promises::claim, run: promises::run },
    Check { claim: published::claim, run: published::run },
];

/// Runs all checks. An error is one of the writer.
pub fn check(inputs: &Inputs, out: &mut dyn Write) -> io::Result<Outcome> {
    let mut outcomes = Vec::new();
    for check in &CHECKS {
        let result = (check.run)(inputs);
        print(&(check.claim)(inputs), &result, out)?;
        outcomes.push(match result {
            Err(_) => Outcome::CouldNotRun,
            Ok(problems) if problems.is_empty() => Outcome::Clean,
            Ok(_) => Outcome::Drift,
        });
    }
    sum_up(&outcomes, out)?;
    Ok(outcomes.into_iter().max().unwrap_or(Outcome::Clean))
}

fn print(
    claim: &str,
    result: &anyhow::Result<Vec<Problem>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match result {
        Ok(problems) if problems.is_empty() => writeln!(out, "{GOOD}✓{GOOD:#} {claim}"),
        Ok(problems) => {
            let count = match problems.len() {
                1 => "1 difference".to_string(),
                count => format!("{count} differences"),
            };
            writeln!(out, "{BAD}✗{BAD:#} {claim}: no, {count}")?;
            problems.iter().try_for_each(|problem| print_problem(problem, out))
        }
        Err(error) => {
            writeln!(out, "{BAD}?{BAD:#} {claim}: cannot tell")?;
            writeln!(out, "  {error:#}")
        }
    }
}

fn print_problem(problem: &Problem, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {PLACE}{}{PLACE:#}", problem.place)?;
    for line in &problem.lines {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "    mend: {}", problem.mend)
}

fn sum_up(outcomes: &[Outcome], out: &mut dyn Write) -> io::Result<()> {
    let of = |outcome| outcomes.iter().filter(|other| **other == outcome).count();
    let (clean, drift, unknown) =
        (of(Outcome::Clean), of(Outcome::Drift), of(Outcome::CouldNotRun));
    write!(out, "{clean} of {} checks passed", outcomes.len())?;
    if drift > 0 {
        write!(out, ", {drift} failed")?;
    }
    if unknown > 0 {
        write!(out, ", {unknown} could not run")?;
    }
    writeln!(out, ".")
}

/// An input that is there, or why it is not.
fn given<T>(input: &anyhow::Result<T>) -> anyhow::Result<&T> {
    input.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))
}
