//! The check that the generated client is up to date.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::client_code::client_code;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_CODE, DOCUMENT};

pub(super) fn claim(_: &Inputs) -> String {
    format!("{CLIENT_CODE} is what {DOCUMENT} generates")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let generated = client_code(&inputs.parsed_document()?)?;
    let checked_in = available(&inputs.client)?;
    if *checked_in == generated {
        return Ok(Vec::new());
    }
    Ok(vec![Problem {
        place: format!("{CLIENT_CODE} (-), and what {DOCUMENT} generates (+)"),
        details: line_diff(checked_in, &generated),
        fix: "cargo xtask generate".to_string(),
    }])
}
