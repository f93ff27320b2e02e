//! The check that the published documents are unchanged: by their checksums, and by
//! the history of the main branch.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::history::History;
use crate::published::{PUBLISHED, SUMS, checksum, version_of};

pub(super) fn claim(inputs: &Inputs) -> String {
    match &inputs.history {
        Ok(History::Unknown(why)) => format!(
            "{PUBLISHED} holds what {SUMS} says; it is not compared with the history of main, \
             because {why}"
        ),
        _ => format!("{PUBLISHED} holds what was published, by {SUMS} and by the history of main"),
    }
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let published = available(&inputs.published)?;
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
            Some(_) => format!("was not published: it is not in {SUMS}"),
            None => "is not a published document".to_string(),
        };
        let fix = format!("git rm {PUBLISHED}/{name}; only `cargo xtask publish` writes there");
        problems.push(problem(name, &what, fix));
    }
    if let History::Known(files) = available(&inputs.history)? {
        problems.extend(files.iter().filter_map(|(name, first)| {
            let what = match published.files.get(name) {
                None => "and is missing",
                Some(bytes) if *bytes != first.bytes => "with another content",
                Some(_) => return None,
            };
            let (commit, what) =
                (&first.commit, format!("was published in {} {what}", first.commit));
            let fix =
                format!("git restore --source {commit} {PUBLISHED}/{name}, and its line in {SUMS}");
            Some(problem(name, &what, fix))
        }));
    }
    Ok(problems)
}

fn problem(name: &str, what: &str, fix: String) -> Problem {
    Problem { place: format!("{PUBLISHED}/{name}"), details: vec![what.to_string()], fix }
}

/// The checksum may be what is wrong, so both files are named.
fn restore(name: &str) -> String {
    format!(
        "git restore --source COMMIT {PUBLISHED}/{name} {PUBLISHED}/{SUMS}, from before the change"
    )
}
