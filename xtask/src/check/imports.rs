//! The check that no two files of a crate import each other.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::imports::{Cycle, cycles};
use crate::repository::Repository;
use std::path::Path;

pub(super) fn claim(inputs: &Inputs) -> String {
    let crates = inputs.crates.as_ref().map_or(0, Vec::len);
    format!("no files import each other, in {crates} crates")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for root in available(&inputs.crates)? {
        problems.extend(cycles(root)?.iter().map(problem));
    }
    Ok(problems)
}

fn problem(cycle: &Cycle) -> Problem {
    let here = Repository::here();
    let name = |file: &Path| file.strip_prefix(here.root()).unwrap_or(file).display().to_string();
    let files: Vec<String> = cycle.iter().map(|(file, _)| name(file)).collect();
    let details = cycle.iter().zip(files.iter().cycle().skip(1));
    Problem {
        place: [files.as_slice(), files.get(..1).unwrap_or_default()].concat().join(" -> "),
        details: details
            .map(|((file, path), next)| format!("{} uses {path} of {next}", name(file)))
            .collect(),
        fix: "move what both use to a file of its own".to_string(),
    }
}
