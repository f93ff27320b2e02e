//! `cargo xtask judge`: what others say of the document and of the live server.
//!
//! Linters and a validator read the document; schemathesis sends what it makes
//! of it; clients that other generators make from it list and cancel. The tools
//! are pinned in `tests/judges` and installed under `target/judges`.

mod clients;
mod documents;
mod fuzzing;
mod live;
mod report;
mod tools;

use crate::Outcome;
use crate::repository::Repository;
use anstyle::{AnsiColor, Style};
use live::Live;
use std::io::{self, Write};
use tools::Tools;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// How to judge.
#[derive(Clone, Debug, clap::Args)]
pub struct JudgeArgs {
    /// Install the pinned tools, if they are not installed yet, and judge nothing
    #[arg(long)]
    pub install: bool,
}

/// What a judge has to work with.
struct Court {
    repository: Repository,
    tools: Tools,
    live: Live,
}

/// A judge, and what is true when it finds nothing. What it finds is text.
struct Judge {
    claim: &'static str,
    run: fn(&Court) -> anyhow::Result<Option<String>>,
}

const JUDGES: [Judge; 8] = [
    Judge { claim: "openapi-spec-validator: the document is valid", run: documents::validator },
    Judge { claim: "Redocly, recommended-strict: no findings", run: documents::redocly },
    Judge { claim: "Spectral, spectral:oas and our rules: no findings", run: documents::spectral },
    Judge { claim: "our rules notice what they are for", run: documents::rules_bite },
    Judge { claim: "schemathesis with a large limit: no findings", run: fuzzing::with_room },
    Judge { claim: "schemathesis up to 429: no findings", run: fuzzing::up_to_the_limit },
    Judge { claim: "TypeScript: openapi-typescript, openapi-fetch", run: clients::typescript },
    Judge { claim: "Python: openapi-python-client", run: clients::python },
];

/// Has every judge judge, prints what they find, sums up.
pub fn judge(
    arguments: &JudgeArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let tools = Tools::of(repository);
    if arguments.install {
        return tools.install(out).map(|()| Outcome::Clean);
    }
    tools.check()?;
    let court = Court { repository: repository.clone(), tools, live: Live::build(repository)? };
    let mut outcomes = Vec::new();
    for judge in &JUDGES {
        let found = (judge.run)(&court);
        outcomes.push(print(judge.claim, &found, out)?);
    }
    let clean = outcomes.iter().filter(|outcome| **outcome == Outcome::Clean).count();
    writeln!(out, "{clean} of {} judges are content.", JUDGES.len())?;
    Ok(outcomes.into_iter().max().unwrap_or(Outcome::Clean))
}

fn print(
    claim: &str,
    found: &anyhow::Result<Option<String>>,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    let (sign, text, outcome) = match found {
        Ok(None) => (format!("{GOOD}✓{GOOD:#}"), String::new(), Outcome::Clean),
        Ok(Some(text)) => (format!("{BAD}✗{BAD:#}"), text.clone(), Outcome::Drift),
        Err(error) => (format!("{BAD}?{BAD:#}"), format!("{error:#}"), Outcome::CouldNotRun),
    };
    writeln!(out, "{sign} {claim}")?;
    text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
    out.flush()?;
    Ok(outcome)
}
