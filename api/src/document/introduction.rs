//! The description of a document: `introduction.md` with its figures, the table of plans and
//! the error codes filled in. A paragraph that begins with a base path in braces is of that
//! version alone.

use super::error::DocumentError;
use super::figures::{filled_in, thousands};
use super::wording::{codes, meaning};
use crate::documents::Document;
use crate::errors::Code;
use crate::plans::Plan;
use std::fmt::Write;

pub(super) fn introduction(document: &Document) -> Result<String, DocumentError> {
    let paragraphs = include_str!("../introduction.md").trim_end().split("\n\n");
    let own = |paragraph: &'static str| match paragraph.strip_prefix("{/") {
        Some(marked) => marked
            .split_once("}\n")
            .filter(|(version, _)| document.base_path.strip_prefix('/') == Some(version))
            .map(|(_, text)| text),
        None => Some(paragraph),
    };
    let text = filled_in(&paragraphs.filter_map(own).collect::<Vec<_>>().join("\n\n"), document)?;
    Ok(text
        .replace("{plans}", plan_table().trim_end())
        .replace("{codes}", code_sections(document).trim_end()))
}

fn plan_table() -> String {
    let mut table =
        "| Plan | Requests per minute | Requests per day |\n|---|---|---|\n".to_string();
    for plan in Plan::ALL {
        let (minute, day) = match plan.limits() {
            Some(limits) => (thousands(limits.per_minute), thousands(limits.per_day)),
            None => ("custom".to_string(), "custom".to_string()),
        };
        let _ = writeln!(table, "| {} | {minute} | {day} |", plan.title());
    }
    table
}

/// A heading for each code, not a table: a heading has an address, and the reference's
/// search finds it. The code is emphasised, because Scalar leaves what is marked as code
/// out of addresses, and takes the `_not_` of plain text for emphasis.
fn code_sections(document: &Document) -> String {
    let section = |code: Code| {
        let (status, meaning) = (code.status().as_u16(), meaning(document, code));
        format!("### {status} *{}*\n\n{meaning}\n\n", code.as_str())
    };
    codes(document).map(section).collect()
}
