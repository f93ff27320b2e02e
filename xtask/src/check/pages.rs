//! The check that the generated pages of the server are up to date.

use super::client::problem;
use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::pages::pages;
use crate::repository::{CHANGELOG, PAGES};
use store_orders_api::documents::V1;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{PAGES} has what {CHANGELOG} and {} generate", V1.file)
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let Some(checked_in) = available(&inputs.pages)? else { return Ok(Vec::new()) };
    let generated = pages(available(&inputs.changelog)?, &inputs.parsed_document(V1.file)?);
    let stale = generated.iter().filter_map(|page| {
        let text = checked_in.get(&page.name).map(String::as_str).unwrap_or_default();
        problem(&page.name, text, page.source, &page.text)
    });
    Ok(stale.collect())
}
