//! Checks that no document in `spec/published` has been changed or removed since the main branch
//! first had it. Only a beta whose stable version is published may be removed.
//!
//! Also finds files that are not published documents, and versions in the changelog whose
//! publication was skipped.

use super::inputs::{Inputs, available};
use super::problem::{ABSENT, Fix, Problem};
use crate::documents::DOCUMENTS;
use crate::history::History;
use crate::published::{PUBLISHED, Published, file_name, version_of};
use crate::repository::CHANGELOG;
use crate::{changelog, version};
use semver::Version;

pub(super) fn claim(inputs: &Inputs) -> String {
    match &inputs.history {
        Ok(History::Unknown(why)) => {
            format!("{PUBLISHED} is not compared with the history of main, because {why}")
        }
        _ => format!("{PUBLISHED} is unchanged since publication, by the history of main"),
    }
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let published = available(&inputs.published)?;
    let mut problems = Vec::new();
    for name in published.files.keys().filter(|name| version_of(name).is_none()) {
        let fix = format!("git rm {PUBLISHED}/{name}; only `cargo xtask publish` writes there");
        problems.push(problem(name, ABSENT, "a file that is not a published document", fix));
    }
    problems.extend(skipped_versions(published, &inputs.repository.read(CHANGELOG)?));
    if let History::Known(files) = available(&inputs.history)? {
        problems.extend(files.iter().filter_map(|(name, first)| {
            let state = match published.files.get(name) {
                None if published.is_replaced_beta(name) => return None,
                None => ABSENT,
                Some(bytes) if *bytes != first.bytes => "different content",
                Some(_) => return None,
            };
            let commit = &first.commit;
            let fix = format!("git restore --source {commit} {PUBLISHED}/{name}");
            Some(problem(name, &format!("what was published in {commit}"), state, fix))
        }));
    }
    Ok(problems)
}

/// Returns a problem for each unpublished version in the changelog, if a later version with the
/// same major version was published.
fn skipped_versions(published: &Published, changelog: &str) -> Vec<Problem> {
    let newest = DOCUMENTS.map(|of| published.newest(of).map(|(version, _)| version));
    let is_older = |version: &Version| {
        let mut newest = newest.iter().flatten();
        newest.any(|newest| newest.major == version.major && version < newest)
    };
    changelog::sections(changelog)
        .filter_map(|(title, _)| version::parse(title.split_whitespace().next()?))
        .filter(|version| is_older(version))
        .map(|version| file_name(&version))
        .filter(|name| !published.files.contains_key(name))
        .map(|name| {
            let fix = "add the document of that version".to_string();
            problem(&name, &format!("a document, as {CHANGELOG} has its version"), ABSENT, fix)
        })
        .collect()
}

fn problem(name: &str, expected: &str, found: &str, fix: String) -> Problem {
    Problem {
        place: format!("{PUBLISHED}/{name}"),
        expected: expected.to_string(),
        found: found.to_string(),
        reasons: Vec::new(),
        fix: Fix::ByHand(fix),
    }
}
