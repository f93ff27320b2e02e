//! `cargo xtask judge`: runs third-party tools against the document and the live
//! server.
//!
//! Linters and a validator read the document, as it is checked in and as it is served, another tool
//! judges breaking changes, and schemathesis sends requests generated from it. The programs to copy
//! and the sessions with curl, openssl and ss run against the server, and clients that other
//! generators make from the document list and cancel orders. promtool reads alerts and metrics. The
//! tools are pinned in `tests/judges` and installed under `target/judges`, except promtool, curl,
//! openssl and ss, which are Debian's.

mod breaking_changes;
mod clients;
mod documents;
mod fuzzing;
mod har;
mod kubernetes;
mod metrics;
mod page;
mod samples;
mod served;
mod server;
mod sessions;
mod setup;
mod tools;

pub use clients::run_against_server;
pub use server::{FIRST_ORDER, LiveServer};
pub use tools::{Tools, lines, output, output_lines};

use crate::Outcome;
use crate::report::Report;
use crate::repository::Repository;
use clap::builder::PossibleValuesParser;
use setup::Setup;
use std::io::Write;
use testbed::Program;

/// Arguments of `cargo xtask judge`.
#[derive(Clone, Debug, clap::Args)]
pub struct JudgeArgs {
    /// Only these
    #[arg(value_parser = PossibleValuesParser::new(JUDGES.map(|judge| judge.name)), value_name = "JUDGE")]
    pub judges: Vec<String>,
    /// Install the pinned tools, unless they are installed, and run none
    #[arg(long)]
    pub install: bool,
}

/// A tool, and the claim that holds when it finds nothing. Findings are lines of
/// text.
struct Judge {
    name: &'static str,
    claim: &'static str,
    run: fn(&Setup) -> anyhow::Result<Vec<String>>,
}

/// The longest first: the others run beside it.
const JUDGES: [Judge; 15] = [
    Judge {
        name: "fuzzing",
        claim: "schemathesis with a large limit: no findings",
        run: fuzzing::large_limit,
    },
    Judge {
        name: "documents",
        claim: "openapi-spec-validator, Redocly, Spectral with our rules: no findings",
        run: documents::checked_in,
    },
    Judge {
        name: "rules",
        claim: "our rules detect what they are for",
        run: documents::broken_documents,
    },
    Judge {
        name: "redocly-diff",
        claim: "Redocly diff: agrees on breaking changes, and finds none since publication",
        run: breaking_changes::second_opinion,
    },
    Judge {
        name: "served",
        claim: "the same tools on the served document: no findings",
        run: served::served,
    },
    Judge {
        name: "limited-fuzzing",
        claim: "schemathesis up to 429: no findings",
        run: fuzzing::small_limit,
    },
    Judge {
        name: "promtool",
        claim: "promtool: no findings in alerts and metrics",
        run: metrics::promtool,
    },
    Judge {
        name: "kubernetes",
        claim: "kubernetes-validate: no findings in the handbook's files",
        run: kubernetes::manifests,
    },
    Judge {
        name: "sessions",
        claim: "sessions with curl, openssl and ss of README and runbook",
        run: sessions::run,
    },
    Judge { name: "curl", claim: "the documents' programs to copy: curl", run: samples::curl },
    Judge {
        name: "python",
        claim: "the documents' programs to copy: Python",
        run: samples::python,
    },
    Judge {
        name: "typescript",
        claim: "the documents' programs to copy: TypeScript",
        run: samples::typescript,
    },
    Judge {
        name: "openapi-typescript",
        claim: "TypeScript: openapi-typescript, openapi-fetch",
        run: clients::typescript,
    },
    Judge {
        name: "openapi-python-client",
        claim: "Python: openapi-python-client",
        run: clients::python,
    },
    Judge {
        name: "openapi-ts",
        claim: "TypeScript: openapi-ts, from a live server",
        run: served::client,
    },
];

/// Runs the tools and prints their findings.
pub fn judge(
    arguments: &JudgeArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let tools = Tools::new(repository);
    if arguments.install {
        return tools.install(out).map(|()| Outcome::Clean);
    }
    let named = |judge: &Judge| arguments.judges.iter().any(|name| name == judge.name);
    let mut judges = Vec::from(JUDGES);
    judges.retain(|judge| arguments.judges.is_empty() || named(judge));
    tools.check()?;
    metrics::check_promtool()?;
    sessions::check_programs()?;
    let program = Program::build(repository.root())?;
    let setup = Setup { repository: repository.clone(), tools, program };
    let mut report = Report::new(out);
    report.add_each(&judges, |judge| (judge.claim.to_string(), (judge.run)(&setup)))?;
    Ok(report.finish("judges")?)
}
