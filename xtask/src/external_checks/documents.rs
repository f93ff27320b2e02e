//! Lints the documents with Redocly.

use super::setup::Setup;
use super::tools::output_lines;

pub(super) fn lint(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let mut redocly = setup.tools.node("redocly");
    // Redocly's strict ruleset has no warnings. So every finding is an error, and the exit status
    // shows it.
    redocly.arg("lint").arg("--config").arg(setup.tools.source("redocly.yaml"));
    output_lines(redocly.args(setup.documents()))
}
