//! The check that the generated files are up to date.

use super::inputs::Inputs;
use super::problem::Problem;
use crate::generate::generated;
use crate::line_diff::line_diff;
use crate::repository::{CLIENT_README, PAGES};

pub(super) fn claim(_: &Inputs) -> String {
    format!(
        "the samples, api/src/v1.rs and v2.rs, the clients, {CLIENT_README} and {PAGES} are what is generated"
    )
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let (mut problems, files) = (Vec::new(), &inputs.repository);
    for file in generated(files)? {
        let checked_in = files.read_generated(&file.name)?;
        if checked_in != file.text {
            problems.push(Problem {
                place: format!("{} (-), and what {} generates (+)", file.name, file.source),
                details: line_diff(&checked_in, &file.text),
                fix: "cargo xtask generate".to_string(),
            });
        }
    }
    Ok(problems)
}
