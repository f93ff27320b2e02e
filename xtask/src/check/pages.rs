//! The check that the generated pages of the server are up to date.

use super::client::problem;
use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::pages::pages;
use crate::repository::{CHANGELOG, PAGES};

pub(super) fn claim(inputs: &Inputs) -> String {
    format!("{PAGES} has what {CHANGELOG} and {} generate", inputs.document_files())
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let Some(checked_in) = available(&inputs.pages)? else { return Ok(Vec::new()) };
    let documents: Vec<_> =
        inputs.documents.iter().map(|document| document.parsed()).collect::<Result<_, _>>()?;
    let generated = pages(available(&inputs.changelog)?, &documents);
    let stale = generated.iter().filter_map(|page| {
        let text = checked_in.get(&page.name).map(String::as_str).unwrap_or_default();
        problem(&page.name, text, page.source, &page.text)
    });
    Ok(stale.collect())
}
