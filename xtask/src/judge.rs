//! `cargo xtask judge`: runs third-party tools, the judges, against the documents and a live
//! server.
//!
//! Redocly lints the documents, and schemathesis sends requests generated from them. The code
//! samples and the shell sessions with curl, openssl, ss and nginx run against the server, and
//! clients of other generators list and cancel orders. promtool checks alerts and metrics. The
//! tools are pinned in `tests/judges` and installed in `target/judges`, except promtool, curl,
//! openssl, ss, nginx, systemd-analyze and Python, which come from Debian.

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
    /// Run only these judges
    #[arg(value_parser = PossibleValuesParser::new(JUDGES.map(|Judge(name, ..)| name)), value_name = "JUDGE")]
    pub judges: Vec<String>,
    /// Only install the pinned tools, unless they are installed
    #[arg(long)]
    pub install: bool,
}

/// A third-party check: its name, the statement that it verifies, the tools that it needs, and the
/// function that runs it and returns its findings as lines.
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

/// All judges. The longest come first, because judges run in parallel.
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

/// Runs the judges and prints their findings.
pub fn run_judges(
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
