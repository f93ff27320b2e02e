//! `cargo xtask judge`: runs third-party tools against the document and the live
//! server.
//!
//! Redocly reads the documents, and schemathesis sends requests generated from them. The programs
//! to copy and the sessions with curl, openssl, ss and nginx run against the server, and clients
//! that other generators make from the documents list and cancel orders. promtool reads alerts and
//! metrics. The tools are pinned in `tests/judges` and installed under `target/judges`, except
//! promtool, curl, openssl, ss, nginx, systemd-analyze and Python, which are Debian's.

mod clients;
mod documents;
mod fuzzing;
mod kubernetes;
mod metrics;
mod samples;
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
use std::collections::BTreeSet;
use std::io::Write;
use testbed::Program;
use tools::Need;

/// Arguments of `cargo xtask judge`.
#[derive(Clone, Debug, clap::Args)]
pub struct JudgeArgs {
    /// Only these
    #[arg(value_parser = PossibleValuesParser::new(JUDGES.map(|Judge(name, ..)| name)), value_name = "JUDGE")]
    pub judges: Vec<String>,
    /// Install the pinned tools, unless they are installed, and run none
    #[arg(long)]
    pub install: bool,
}

/// The name of a tool, the claim that holds when it finds nothing, and what it needs. Findings are
/// lines of text.
struct Judge(
    &'static str,
    &'static str,
    &'static [Need],
    fn(&Setup) -> anyhow::Result<Vec<String>>,
);

const PINNED: &[Need] = &[Need::Pinned];
const PROMTOOL: &[Need] = &[Need::Program("promtool", "prometheus")];
const CURL: &[Need] = &[Need::Program("curl", "curl")];
const PYTHON: &[Need] = &[Need::Program("python3", "python3")];
const SESSIONS: &[Need] = &[
    Need::Program("curl", "curl"),
    Need::Program("openssl", "openssl"),
    Need::Program("ss", "iproute2"),
    Need::Program("promtool", "prometheus"),
    Need::Program("systemd-analyze", "systemd"),
];

/// The longest first: the others run beside it.
const JUDGES: [Judge; 10] = [
    Judge("fuzzing", "schemathesis: no findings", PINNED, fuzzing::all_versions),
    Judge("documents", "Redocly's lint: no findings", PINNED, documents::lint),
    Judge("promtool", "promtool: no findings in alerts and metrics", PROMTOOL, metrics::promtool),
    Judge(
        "kubernetes",
        "kubernetes-validate: no findings in the handbook's files",
        PINNED,
        kubernetes::manifests,
    ),
    Judge(
        "sessions",
        "sessions with curl, openssl, ss, nginx and promtool of README and handbook",
        SESSIONS,
        sessions::run,
    ),
    Judge("curl", "the documents' programs to copy: curl", CURL, samples::curl),
    Judge("python", "the documents' programs to copy: Python", PYTHON, samples::python),
    Judge("typescript", "the documents' programs to copy: TypeScript", PINNED, samples::typescript),
    Judge(
        "openapi-typescript",
        "TypeScript: openapi-typescript, openapi-fetch",
        PINNED,
        clients::typescript,
    ),
    Judge("openapi-python-client", "Python: openapi-python-client", PINNED, clients::python),
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
    let named = |name: &str| arguments.judges.iter().any(|named| named == name);
    let mut judges = Vec::from(JUDGES);
    judges.retain(|Judge(name, ..)| arguments.judges.is_empty() || named(name));
    let needs = judges.iter().flat_map(|Judge(_, _, needs, _)| *needs);
    needs.collect::<BTreeSet<_>>().into_iter().try_for_each(|need| tools.check(need))?;
    let program = Program::build(repository.root())?;
    let setup = Setup { repository: repository.clone(), tools, program };
    let mut report = Report::new(out);
    report.add_each(&judges, |Judge(_, claim, _, run)| ((*claim).to_string(), run(&setup)))?;
    Ok(report.finish("judges")?)
}
