//! The check that the documents are in canonical form.

use super::inputs::{Inputs, document_files, in_each_document};
use super::problem::Problem;
use crate::canonical_json;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{} are in canonical form", document_files())
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    in_each_document(|of| {
        let text = inputs.repository.read(of.file)?;
        let canonical = canonical_json::print(&canonical_json::parse(of.file, &text)?);
        let is_canonical = canonical == text;
        Ok((!is_canonical)
            .then(|| Problem::of_text(of.file, canonical, text))
            .into_iter()
            .collect())
    })
}
