//! Checks that the documents are in canonical form and contain the code samples of `spec/samples`.

use super::inputs::{ALL_DOCUMENTS, Inputs, in_each_document};
use super::problem::{ABSENT, Fix, Problem};
use crate::canonical_json;
use crate::repository::SAMPLES;
use crate::samples;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{ALL_DOCUMENTS} are in canonical form, with the programs of {SAMPLES}")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let repository = &inputs.repository;
    in_each_document(|of| {
        let text = repository.read(of.file)?;
        let mut document = canonical_json::parse(of.file, &text)?;
        let (mut problems, mut reasons) = (Vec::new(), Vec::new());
        // Check the samples only if the checkout contains the server, because other checkouts have
        // no samples.
        if repository.has_server() {
            let before = document.clone();
            let missing = samples::put(repository, of, &mut document)?;
            problems.extend(missing.into_iter().map(|place| Problem {
                place,
                expected: "a program to copy".to_string(),
                found: ABSENT.to_string(),
                reasons: Vec::new(),
                fix: Fix::ByHand("write it".to_string()),
            }));
            if document != before {
                reasons.push(format!("its programs are those of {SAMPLES}"));
            }
        }
        let canonical = canonical_json::print(&document);
        if canonical != text {
            problems.push(Problem { reasons, ..Problem::for_file(of.file, canonical, text) });
        }
        Ok(problems)
    })
}
