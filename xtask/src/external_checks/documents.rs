//! Lints the documents with Redocly.

use super::setup::Setup;
use super::tools::output_lines;

pub(super) fn lint(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let mut redocly = setup.tools.node("redocly");
    // Redocly's strict ruleset reports every finding as an error. So the exit status shows whether
    // there are findings.
    redocly.arg("lint").arg("--config").arg(setup.tools.source("redocly.yaml"));
    output_lines(redocly.args(setup.documents()))
}
