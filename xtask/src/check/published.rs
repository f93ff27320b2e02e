//! The check that the published documents are what was published.

use super::{Inputs, Problem, given};
use crate::published::{PUBLISHED, SUMS, checksum, version_of};

pub(super) fn claim(_: &Inputs) -> String {
    format!("{PUBLISHED} holds what was published")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let published = given(&inputs.published)?;
    let checksums = published.checksums()?;
    let mut problems = Vec::new();
    for (name, sum) in &checksums {
        match published.files.get(name) {
            None => problems.push(problem(name, "was published and is missing", restore(name))),
            Some(bytes) if checksum(bytes) != sum.to_lowercase() => {
                problems.push(problem(name, "is not what was published", restore(name)));
            }
            Some(_) => {}
        }
    }
    for name in published.files.keys().filter(|name| !checksums.contains_key(*name)) {
        let what = match version_of(name) {
            Some(_) => format!("was not published: {SUMS} does not know it"),
            None => "is no published document".to_string(),
        };
        let mend = format!("git rm {PUBLISHED}/{name}; `cargo xtask publish` alone writes there");
        problems.push(problem(name, &what, mend));
    }
    Ok(problems)
}

fn problem(name: &str, what: &str, mend: String) -> Problem {
    Problem { place: format!("{PUBLISHED}/{name}"), lines: vec![what.to_string()], mend }
}

/// A checksum may be what is wrong, so both files are named.
fn restore(name: &str) -> String {
    format!(
        "git restore --source COMMIT {PUBLISHED}/{name} {PUBLISHED}/{SUMS}, from before the change"
    )
}
