//! The check that the document changes only as was promised to those who read
//! the published one: the version answers to the changes, and the changelog
//! names them.

use super::{Inputs, Problem, given};
use crate::changelog;
use crate::compatibility::{Change, Verdict, changes};
use crate::published::{PUBLISHED, file_name};
use crate::repository::{CHANGELOG, DOCUMENT};
use crate::strict_json;
use crate::version::Version;
use anyhow::Context;
use serde_json::Value;

/// So many changes of one kind are listed, and the others counted.
const SHOWN: usize = 12;

pub(super) fn claim(inputs: &Inputs) -> String {
    match inputs.published.as_ref().ok().and_then(|published| published.newest()) {
        Some((version, _)) => {
            format!("{DOCUMENT} keeps what {PUBLISHED}/{} promised", file_name(version))
        }
        None => format!("{DOCUMENT} may change freely: nothing is published yet"),
    }
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let document = strict_json::read(DOCUMENT, given(&inputs.document)?)?.value;
    let Some((published_version, bytes)) = given(&inputs.published)?.newest() else {
        return Ok(Vec::new());
    };
    let name = format!("{PUBLISHED}/{}", file_name(published_version));
    let text = std::str::from_utf8(bytes).with_context(|| format!("{name} is no text"))?;
    let published = strict_json::read(&name, text)?.value;
    let Some(version) = version_of_document(&document) else { return Ok(vec![no_version()]) };

    let found = distinct(changes(&published, &document));
    let mut problems = Vec::new();
    problems.extend(version_problem(published_version, version, &found));
    problems.extend(unnamed(given(&inputs.changelog)?, version, &found));
    Ok(problems)
}

/// The version that a document says it is.
pub fn version_of_document(document: &Value) -> Option<Version> {
    Version::read(document.pointer("/info/version")?.as_str()?)
}

/// The problem that it says none.
pub fn no_version() -> Problem {
    Problem {
        place: "/info/version".to_string(),
        lines: vec!["is no version of three numbers, such as 1.2.0".to_string()],
        mend: format!("edit {DOCUMENT}, and API_VERSION in api/src/document.rs"),
    }
}

/// A change of a shared part comes once for each use; callers need to hear it
/// once.
fn distinct(changes: Vec<Change>) -> Vec<Change> {
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        let known = |other: &Change| {
            other.name == change.name
                && other.says == change.says
                && other.verdict == change.verdict
                && last(&other.place) == last(&change.place)
        };
        if !kept.iter().any(known) {
            kept.push(change);
        }
    }
    kept
}

fn last(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The problem that the version is lower than the changes ask for.
fn version_problem(published: Version, version: Version, found: &[Change]) -> Option<Problem> {
    let worst = found.iter().map(|change| change.verdict).max();
    let least = worst.map_or(published, |worst| published.after(worst));
    if version >= least {
        return None;
    }
    let mut lines = vec![match worst {
        None => format!("is {version}, but {published} is published already"),
        Some(worst) => format!(
            "is {version}; after {published}, {} asks for {least} or later:",
            match worst {
                Verdict::Breaking => "what breaks callers",
                Verdict::Addition => "an addition",
                Verdict::Neutral => "any change",
            }
        ),
    }];
    let of_worst: Vec<_> =
        found.iter().filter(|change| Some(change.verdict) == worst).map(line).collect();
    let more = of_worst.len().saturating_sub(SHOWN);
    lines.extend(of_worst.into_iter().take(SHOWN));
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    let set = format!("set info.version to {least} in {DOCUMENT} and in api/src/document.rs");
    Some(Problem {
        place: "/info/version".to_string(),
        lines,
        mend: match worst {
            Some(Verdict::Breaking) => format!("take the changes back, or {set}"),
            _ => set,
        },
    })
}

fn line(change: &Change) -> String {
    let place = if change.place.is_empty() { "the document" } else { &change.place };
    match change.verdict {
        Verdict::Neutral => format!("{place} {}", change.says),
        _ => format!("`{}` {} ({place})", change.name, change.says),
    }
}

/// The problem that the changelog does not name what callers have to know of.
fn unnamed(text: &str, version: Version, found: &[Change]) -> Option<Problem> {
    let section = changelog::section(text, version).unwrap_or_default();
    let missing: Vec<_> = found
        .iter()
        .filter(|change| change.verdict > Verdict::Neutral)
        .filter(|change| !changelog::names(&section, &change.name))
        .map(|change| format!("{}: {}", change.verdict.as_str(), line(change)))
        .collect();
    let more = missing.len().saturating_sub(SHOWN);
    if missing.is_empty() {
        return None;
    }
    let mut lines = vec![format!("does not name, between backticks under \"## {version}\":")];
    lines.extend(missing.into_iter().take(SHOWN));
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    Some(Problem { place: CHANGELOG.to_string(), lines, mend: format!("edit {CHANGELOG}") })
}
