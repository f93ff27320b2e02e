//! The check that the generated pages of the server are up to date.

use super::client::problem;
use super::inputs::{Inputs, document_files};
use super::problem::Problem;
use crate::pages::pages;
use crate::repository::{CHANGELOG, PAGES};
use store_orders_api::documents::DOCUMENTS;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{PAGES} has what {CHANGELOG} and {} generate", document_files())
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let (mut problems, files) = (Vec::new(), &inputs.repository);
    if files.has_server() {
        let documents = DOCUMENTS.into_iter().map(|of| inputs.document(of.file));
        let documents: Vec<_> = documents.collect::<Result<_, _>>()?;
        for page in pages(&files.read(CHANGELOG)?, &documents) {
            let text = files.read_generated(&page.name)?;
            problems.extend(problem(&page.name, &text, page.source, &page.text));
        }
    }
    Ok(problems)
}
