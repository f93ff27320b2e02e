//! The check that the generated client and its README are up to date.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::client_code::client_code;
use crate::client_readme::client_readme;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_CODE, CLIENT_DOCS, CLIENT_README, DOCUMENT};

pub(super) fn claim(_: &Inputs) -> String {
    format!("{CLIENT_CODE} is what {DOCUMENT} generates, and {CLIENT_README} what its docs say")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let code = client_code(&inputs.parsed_document()?)?;
    let readme = client_readme(available(&inputs.client_docs)?)?;
    let code = problem(CLIENT_CODE, available(&inputs.client)?, DOCUMENT, &code);
    let readme = problem(CLIENT_README, available(&inputs.client_readme)?, CLIENT_DOCS, &readme);
    Ok(code.into_iter().chain(readme).collect())
}

/// The problem that the file `name` is not what `source` generates.
pub(super) fn problem(
    name: &str,
    checked_in: &str,
    source: &str,
    generated: &str,
) -> Option<Problem> {
    (checked_in != generated).then(|| Problem {
        place: format!("{name} (-), and what {source} generates (+)"),
        details: line_diff(checked_in, generated),
        fix: "cargo xtask generate".to_string(),
    })
}
