//! The description of the document: `introduction.md` with its figures, the table of
//! plans and the error codes filled in.

use super::error::DocumentError;
use super::figures::{filled_in, thousands};
use crate::errors::Code;
use crate::plans::Plan;
use std::fmt::Write;

pub(super) fn introduction() -> Result<String, DocumentError> {
    let text = filled_in(include_str!("../introduction.md").trim_end())?;
    Ok(text
        .replace("{plans}", plan_table().trim_end())
        .replace("{codes}", code_sections().trim_end()))
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
fn code_sections() -> String {
    let section = |code: Code| {
        let (status, meaning) = (code.status().as_u16(), code.meaning());
        format!("### {status} *{}*\n\n{meaning}\n\n", code.as_str())
    };
    Code::ALL.map(section).concat()
}
