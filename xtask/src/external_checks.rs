//! `cargo xtask external-checks`: runs third-party tools against the documents and a live server.
//!
//! Most of the tools are pinned in `tests/external_checks` and installed in
//! `target/external_checks`. The developer must install Node, npm, and the Debian packages with
//! promtool, curl, openssl, ss, nginx, systemd-analyze and Python.

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
use crate::check_report::CheckReport;
use crate::repository::Repository;
use clap::builder::PossibleValuesParser;
use setup::Setup;
use std::collections::BTreeSet;
use std::io::Write;
use testbed::Program;
use tools::Need;

#[derive(Clone, Debug, clap::Args)]
pub struct ExternalCheckArgs {
    /// Run only these checks, instead of all
    #[arg(value_parser = PossibleValuesParser::new(CHECKS.map(|ExternalCheck(name, ..)| name)), value_name = "CHECK")]
    pub checks: Vec<String>,
    /// Install the pinned tools, unless they are installed already, and run no checks
    #[arg(long)]
    pub install: bool,
}

/// An external check, with its name, the statement that it verifies, the needed tools, and the
/// function that returns its findings.
struct ExternalCheck(
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

/// All external checks. The checks start in this order, and several run at once. Put slow checks
/// near the beginning, so that no slow check runs alone at the end.
const CHECKS: [ExternalCheck; 10] = [
    ExternalCheck("fuzzing", "schemathesis: no findings", PINNED, fuzzing::all_versions),
    ExternalCheck("documents", "Redocly's lint: no findings", PINNED, documents::lint),
    ExternalCheck(
        "promtool",
        "promtool: no findings in alerts and metrics",
        PROMTOOL,
        metrics::promtool,
    ),
    ExternalCheck(
        "kubernetes",
        "kubernetes-validate: no findings in the handbook's files",
        PINNED,
        kubernetes::manifests,
    ),
    ExternalCheck(
        "sessions",
        "sessions with curl, openssl, ss, nginx and promtool of README and handbook",
        SESSIONS,
        sessions::run,
    ),
    ExternalCheck("curl", "the documents' programs to copy: curl", CURL, samples::curl),
    ExternalCheck("python", "the documents' programs to copy: Python", PYTHON, samples::python),
    ExternalCheck(
        "typescript",
        "the documents' programs to copy: TypeScript",
        PINNED,
        samples::typescript,
    ),
    ExternalCheck(
        "openapi-typescript",
        "TypeScript: openapi-typescript, openapi-fetch",
        PINNED,
        clients::typescript,
    ),
    ExternalCheck(
        "openapi-python-client",
        "Python: openapi-python-client",
        PINNED,
        clients::python,
    ),
];

pub fn run_external_checks(
    arguments: &ExternalCheckArgs,
    repository: &Repository,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let tools = Tools::new(repository);
    if arguments.install {
        return tools.install(out).map(|()| Outcome::Clean);
    }
    let named = |name: &str| arguments.checks.iter().any(|named| named == name);
    let mut checks = Vec::from(CHECKS);
    checks.retain(|ExternalCheck(name, ..)| arguments.checks.is_empty() || named(name));
    let needs = checks.iter().flat_map(|ExternalCheck(_, _, needs, _)| *needs);
    needs.collect::<BTreeSet<_>>().into_iter().try_for_each(|need| tools.check(need))?;
    let program = Program::build(repository.root())?;
    let setup = Setup { repository: repository.clone(), tools, program };
    let mut report = CheckReport::new(out);
    report
        .add_each(&checks, |ExternalCheck(_, claim, _, run)| ((*claim).to_string(), run(&setup)))?;
    Ok(report.finish("external checks")?)
}
