//! The check that the generated pages of the server are up to date.

use super::client::problem;
use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::pages::pages;
use crate::repository::{CHANGELOG, DOCUMENT, PAGES};

pub(super) fn claim(_: &Inputs) -> String {
    format!("{PAGES} has what {CHANGELOG} and {DOCUMENT} generate")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let Some(checked_in) = available(&inputs.pages)? else { return Ok(Vec::new()) };
    let generated = pages(available(&inputs.changelog)?, &inputs.parsed_document()?);
    let stale = generated.iter().filter_map(|page| {
        let text = checked_in.get(&page.name).map(String::as_str).unwrap_or_default();
        problem(&page.name, text, page.source, &page.text)
    });
    Ok(stale.collect())
}
