//! Runs schemathesis once for each version of the API, each time against a new server.

use super::server::LiveServer;
use super::setup::Setup;
use super::tools::{lines, output};
use crate::documents::{DOCUMENTS, Document, V1};
use std::process::Command;

const MAX_EXAMPLES: &str = "200";
/// A rate limit that no run reaches.
const PER_MINUTE: u32 = 1_000_000;

pub(super) fn all_versions(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let findings = DOCUMENTS.into_iter().map(|document| fuzz(document, setup));
    Ok(findings.collect::<Result<Vec<_>, _>>()?.concat())
}

fn fuzz(document: &Document, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let server = LiveServer::start(&setup.program)?;
    let key = server.issue_key("fuzzing", PER_MINUTE)?;
    let configuration = format!("schemathesis{}.toml", document.base_path.replace('/', "-"));
    let mut command = setup.tools.python("schemathesis");
    command.env("SCHEMATHESIS_HOOKS", setup.tools.source("schemathesis_checks.py"));
    command.env("KEY", &key).arg("--config-file").arg(setup.tools.source(&configuration));
    // Pass the document's URL, because schemathesis takes the server's address from it. By default,
    // `servers` in the document contains only a path.
    command.arg("run").arg(format!("{}{}", server.origin(), document.path));
    command.args(["--checks", "all", "--seed", &testbed::seed().to_string()]);
    command.args(["--continue-on-failure", "--max-examples", MAX_EXAMPLES]);
    command.args(["--generation-database", ":memory:", "--no-color"]);
    if document.base_path != V1.base_path {
        // `use_after_free` expects 404 after a DELETE, but in version 2 getOrder still returns
        // cancelled orders. The configuration file cannot exclude the check, because `--checks all`
        // overrides the file.
        command.args(["--exclude-checks", "use_after_free"]);
    }
    Ok(server.with_log(findings(&mut command)?, &[&key]))
}

/// Runs schemathesis. Returns its output if there are errors or warnings. Warnings count, because
/// schemathesis may report a rejected key as a warning and exit with 0.
fn findings(command: &mut Command) -> anyhow::Result<Vec<String>> {
    let output = output(command)?;
    let lines = lines(command, &output);
    let clean = output.status.success() && !lines.iter().any(|line| line.contains(" WARNINGS "));
    Ok(if clean { Vec::new() } else { lines })
}
