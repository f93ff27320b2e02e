//! The check that the generated client is up to date.

use super::{Inputs, Problem, given};
use crate::client_code::client_code;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_CODE, DOCUMENT};
use crate::strict_json;

pub(super) fn claim(_: &Inputs) -> String {
    format!("{CLIENT_CODE} is what {DOCUMENT} generates")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let document = strict_json::read(DOCUMENT, given(&inputs.document)?)?;
    let generated = client_code(&document.value)?;
    let checked_in = given(&inputs.client)?;
    if *checked_in == generated {
        return Ok(Vec::new());
    }
    Ok(vec![Problem {
        place: format!("{CLIENT_CODE} (-), and what {DOCUMENT} generates (+)"),
        lines: line_diff(checked_in, &generated),
        mend: "cargo xtask generate".to_string(),
    }])
}
