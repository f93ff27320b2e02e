//! The check that the published documents are unchanged, by their checksums and by the history of
//! the main branch, and that none was left out.

use super::inputs::{Inputs, available};
use super::problem::Problem;
use crate::documents::DOCUMENTS;
use crate::history::History;
use crate::published::{PUBLISHED, Published, SUMS, checksum, file_name, version_of};
use crate::repository::CHANGELOG;
use crate::{changelog, version};
use semver::Version;

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
    problems.extend(left_out(published, &inputs.repository.read(CHANGELOG)?));
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

/// The versions that the changelog has and that were passed over: a later one was published.
fn left_out(published: &Published, changelog: &str) -> Vec<Problem> {
    let newest = DOCUMENTS.map(|of| published.newest(of).map(|(version, _)| version));
    let is_passed = |version: &Version| {
        let mut newest = newest.iter().flatten();
        newest.any(|newest| newest.major == version.major && version < newest)
    };
    changelog::sections(changelog)
        .filter_map(|(title, _)| version::parse(title.split_whitespace().next()?))
        .filter(|version| is_passed(version))
        .map(|version| file_name(&version))
        .filter(|name| !published.files.contains_key(name))
        .map(|name| {
            let fix = format!("add the document of that version, and its line in {SUMS}");
            problem(&name, &format!("is missing, and {CHANGELOG} has its version"), fix)
        })
        .collect()
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
