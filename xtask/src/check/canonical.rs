//! The check that the documents are in canonical form.

use super::inputs::{Inputs, document_files, in_each_document};
use super::problem::Problem;
use crate::canonical_json;
use crate::line_diff::line_diff;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{} are in canonical form", document_files())
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    in_each_document(|of| check_canonical(of.file, &inputs.repository.read(of.file)?))
}

/// The lines in which the text of a document differs from its canonical form.
fn check_canonical(file: &str, document: &str) -> anyhow::Result<Vec<Problem>> {
    let canonical = canonical_json::print(&canonical_json::parse(file, document)?);
    if canonical == document {
        return Ok(Vec::new());
    }
    Ok(vec![Problem {
        place: format!("{file} (-), and its canonical form (+)"),
        details: line_diff(document, &canonical),
        fix: format!(
            "edit {file}: no key twice in an object, two spaces of indentation, one value \
             a line"
        ),
    }])
}
