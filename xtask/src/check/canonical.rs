//! The check that the document is in canonical form.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::canonical_json;
use crate::line_diff::line_diff;
use crate::repository::DOCUMENT;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{DOCUMENT} is in canonical form")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    check_canonical(available(&inputs.document)?)
}

/// The lines in which the text of a document differs from its canonical form.
pub fn check_canonical(document: &str) -> anyhow::Result<Vec<Problem>> {
    let canonical = canonical_json::print(&canonical_json::parse(DOCUMENT, document)?);
    if canonical == document {
        return Ok(Vec::new());
    }
    Ok(vec![Problem {
        place: format!("{DOCUMENT} (-), and its canonical form (+)"),
        details: line_diff(document, &canonical),
        fix: format!(
            "edit {DOCUMENT}: no key twice in an object, two spaces of indentation, one value \
             a line"
        ),
    }])
}
