//! The check that each document keeps what the published one promised: its
//! version fits the changes since then, and the changelog names them.

use super::inputs::{Inputs, available, in_each_document};
use super::problem::Problem;
use crate::compatibility::{Change, Verdict, changes, operations_that_stay};
use crate::documents::{DOCUMENTS, Document};
use crate::published::{PUBLISHED, Published, file_name};
use crate::repository::CHANGELOG;
use crate::{canonical_json, changelog, version};
use anyhow::Context;
use chrono::NaiveDate;
use semver::Version;
use serde_json::Value;

/// More changes of one kind are counted instead of listed.
const MAX_LISTED: usize = 12;
/// Where the server's path is set.
pub(super) const BASE_PATH: &str = "base_path in xtask/src/documents.rs";

pub(super) fn claim(inputs: &Inputs) -> String {
    let claims = DOCUMENTS.map(|of| {
        match inputs.published.as_ref().ok().and_then(|published| published.newest(of)) {
            Some((version, _)) => {
                format!("{} keeps what {PUBLISHED}/{} promised", of.file, file_name(&version))
            }
            None => format!("of {} nothing is published yet", of.file),
        }
    });
    claims.join(", ")
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let published = available(&inputs.published)?;
    let changelog = inputs.repository.read(CHANGELOG)?;
    let mut problems = in_each_document(|of| {
        check_promises(of, &inputs.document(of.file)?, published, &changelog, inputs.today)
    })?;
    problems.extend(check_served(&DOCUMENTS.map(|of| of.base_path), published, inputs.today)?);
    Ok(problems)
}

/// Every published version that has no document any more, although its operations may not go on
/// this day.
pub fn check_served(
    base_paths: &[&str],
    published: &Published,
    today: NaiveDate,
) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (path, (version, bytes)) in published.newest_of_each_path() {
        if base_paths.contains(&path.as_str()) {
            continue;
        }
        let place = format!("{PUBLISHED}/{}", file_name(&version));
        let document = parsed(&place, bytes)?;
        let stay = operations_that_stay(&document, today);
        if !stay.is_empty() {
            let details = vec![format!(
                "no document is served under {path}, which promised: {}",
                stay.join(", ")
            )];
            let fix = format!(
                "keep a document with the base path {path} in DOCUMENTS of xtask/src/documents.rs \
                 and api/src/documents.rs until each of them is past its x-sunset"
            );
            problems.push(Problem { place, details, fix });
        }
    }
    Ok(problems)
}

fn parsed(name: &str, bytes: &[u8]) -> anyhow::Result<Value> {
    let text = std::str::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    canonical_json::parse(name, text)
}

/// What the version and the changelog lack for the changes since the newest
/// published document, as they count on this day.
pub fn check_promises(
    of: &Document,
    document: &Value,
    published: &Published,
    changelog: &str,
    today: NaiveDate,
) -> anyhow::Result<Vec<Problem>> {
    let Some((published_version, bytes)) = published.newest(of) else { return Ok(Vec::new()) };
    let name = format!("{PUBLISHED}/{}", file_name(&published_version));
    let published = parsed(&name, bytes)?;
    let Some(version) = version::of_document(document) else {
        return Ok(vec![no_version(of.file)]);
    };
    let found = distinct(changes(&published, document, today));
    let worst = found.iter().map(|change| change.verdict).max();
    let least =
        worst.map_or(published_version.clone(), |worst| worst.next_version(&published_version));
    let low = low_version(of, &published_version, &version, &least, &found);
    Ok(low.into_iter().chain(unnamed(changelog, &version, &least, &found)).collect())
}

/// The problem of a document without a version.
pub fn no_version(file: &str) -> Problem {
    Problem {
        place: "/info/version".to_string(),
        details: vec![
            "is not a version of three numbers, such as 1.2.0, or, where every operation is in \
             beta, such as 2.0.0-beta.1"
                .to_string(),
        ],
        fix: format!("edit {file}, then cargo xtask generate"),
    }
}

/// A change of a shared component is found once for each use and reported once.
fn distinct(changes: Vec<Change>) -> Vec<Change> {
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        let same = |other: &Change| {
            let key = |pointer: &str| pointer.rsplit('/').next().map(str::to_string);
            (&other.name, &other.description, other.verdict)
                == (&change.name, &change.description, change.verdict)
                && key(&other.pointer) == key(&change.pointer)
        };
        if !kept.iter().any(same) {
            kept.push(change);
        }
    }
    kept
}

/// The problem that the version is lower than `least`, which the changes require.
fn low_version(
    of: &Document,
    published: &Version,
    version: &Version,
    least: &Version,
    found: &[Change],
) -> Option<Problem> {
    let worst = found.iter().map(|change| change.verdict).max();
    if version >= least {
        return None;
    }
    let (place, set) = (
        "/info/version".to_string(),
        format!("set info.version to {least} in {}, then cargo xtask generate", of.file),
    );
    let Some(worst) = worst else {
        let details = vec![format!("is {version}, but {published} is already published")];
        return Some(Problem { place, details, fix: set });
    };
    let (what, fix) = match worst {
        Verdict::Breaking => {
            let major = least.major;
            let serve = format!(
                "undo the change, or {set}, and serve it under /v{major}: change the URLs of the \
                 servers in {}, and {BASE_PATH}",
                of.file
            );
            ("a breaking change", serve)
        }
        Verdict::Addition if of.is_beta => ("a change of a beta", set),
        Verdict::Addition => ("an addition", set),
        Verdict::Neutral => ("any change", set),
    };
    let mut details =
        vec![format!("is {version}; after {published}, {what} requires {least} or later:")];
    details.extend(listed(found.iter().filter(|change| change.verdict == worst).map(describe)));
    Some(Problem { place, details, fix })
}

/// The problem that the changelog does not name what callers have to know.
fn unnamed(text: &str, version: &Version, least: &Version, found: &[Change]) -> Option<Problem> {
    let (title, fix) = match version < least {
        true => (least, format!("first raise info.version, then edit {CHANGELOG}")),
        false => (version, format!("edit {CHANGELOG}")),
    };
    let section = changelog::section(text, title).unwrap_or_default();
    let missing: Vec<_> = found
        .iter()
        .filter(|change| change.verdict > Verdict::Neutral)
        .filter(|change| !changelog::names(section, &change.name))
        .map(|change| format!("{}: {}", change.verdict.as_str(), describe(change)))
        .collect();
    if missing.is_empty() {
        return None;
    }
    let mut details = vec![format!("does not name, between backticks under \"## {title}\":")];
    details.extend(listed(missing));
    Some(Problem { place: CHANGELOG.to_string(), details, fix })
}

fn describe(change: &Change) -> String {
    let place = if change.pointer.is_empty() { "the document" } else { &change.pointer };
    match change.verdict {
        Verdict::Neutral => format!("{place} {}", change.description),
        _ => format!("`{}` {} ({place})", change.name, change.description),
    }
}

fn listed(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.into_iter().collect();
    let more = lines.len().saturating_sub(MAX_LISTED);
    if more > 0 {
        lines.truncate(MAX_LISTED);
        lines.push(format!("… and {more} more"));
    }
    lines
}
