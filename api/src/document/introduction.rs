//! The description of the document: `introduction.md` with its figures and the
//! tables of plans and error codes filled in.

use super::error::DocumentError;
use super::figures::{filled_in, thousands};
use crate::errors::Code;
use crate::plans::Plan;
use std::fmt::Write;

pub(super) fn introduction() -> Result<String, DocumentError> {
    let text = filled_in(include_str!("../introduction.md").trim_end())?;
    Ok(text.replace("{plans}", plan_table().trim_end()).replace("{codes}", code_table().trim_end()))
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

fn code_table() -> String {
    let mut table = "| Status | `code` | When, and what to do |\n|---|---|---|\n".to_string();
    for code in Code::ALL {
        let _ = writeln!(
            table,
            "| {} | `{}` | {} |",
            code.status().as_u16(),
            code.as_str(),
            code.meaning()
        );
    }
    table
}
