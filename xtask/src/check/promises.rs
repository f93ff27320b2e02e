//! Checks that the version and the changelog entry of each document fit its changes since the last
//! published document. Also checks that no API version is removed while some of its operations must
//! still be served.

use super::inputs::{ALL_DOCUMENTS, Inputs, available, in_each_document};
use super::problem::{ABSENT, Fix, Problem};
use crate::compatibility::{Change, Verdict, changes, operations_that_stay};
use crate::documents::{DOCUMENTS, Document};
use crate::published::{PUBLISHED, Published, file_name};
use crate::repository::CHANGELOG;
use crate::{canonical_json, changelog, version};
use anyhow::Context;
use chrono::NaiveDate;
use semver::Version;
use serde_json::Value;

/// The maximum number of changes that a problem lists.
const MAX_LISTED: usize = 12;
/// The file that lists the API versions and their base paths. Messages name this file.
pub(super) const BASE_PATHS: &str = "api/versions/src/lib.rs";
/// The section of the developer's guide that messages about breaking changes refer to.
pub(super) const ADD_VERSION: &str = "\"To add a version\" in xtask/README.md";

pub(super) fn claim(inputs: &Inputs) -> String {
    let published = inputs.published.as_ref().ok();
    let newest = DOCUMENTS.iter().filter_map(|of| Some(published?.newest(of)?.0));
    let files: Vec<_> = newest.map(|version| file_name(&version)).collect();
    match files.is_empty() {
        true => format!("of {ALL_DOCUMENTS} nothing is published yet"),
        false => {
            format!("{ALL_DOCUMENTS} keep what {} of {PUBLISHED} promised", files.join(" and "))
        }
    }
}

pub(super) fn run(inputs: &Inputs) -> anyhow::Result<Vec<Problem>> {
    let published = available(&inputs.history)?.first_versions_of(available(&inputs.published)?);
    let changelog = inputs.repository.read(CHANGELOG)?;
    let mut problems = in_each_document(|of| {
        check_promises(of, &inputs.document(of.file)?, &published, &changelog, inputs.today)
    })?;
    problems.extend(check_served(&DOCUMENTS.map(|of| of.base_path), &published, inputs.today)?);
    Ok(problems)
}

/// Checks that no base path was removed too early. A removed path is published, but not in
/// `base_paths`. The removal is too early if the path's newest document has an operation that must
/// still be served on the day `today`.
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
        let document = parse_published(&place, bytes)?;
        let stay = operations_that_stay(&document, today);
        if !stay.is_empty() {
            let fix = format!(
                "keep the row of {path} in the table of {BASE_PATHS} until each of them is past \
                 its x-sunset"
            );
            problems.push(Problem {
                place,
                expected: format!("a document with {} under {path}", stay.join(", ")),
                found: ABSENT.to_string(),
                reasons: Vec::new(),
                fix: Fix::ByHand(fix),
            });
        }
    }
    Ok(problems)
}

fn parse_published(name: &str, bytes: &[u8]) -> anyhow::Result<Value> {
    let text = std::str::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    canonical_json::parse(name, text)
}

/// Checks that the document's version and changelog entry fit the changes since the last published
/// document, by the rules that apply on the day `today`.
pub fn check_promises(
    of: &Document,
    document: &Value,
    published: &Published,
    changelog: &str,
    today: NaiveDate,
) -> anyhow::Result<Vec<Problem>> {
    let Some((published_version, bytes)) = published.newest(of) else { return Ok(Vec::new()) };
    let name = format!("{PUBLISHED}/{}", file_name(&published_version));
    let next_major = next_free_major(published);
    let published = parse_published(&name, bytes)?;
    let Some(version) = version::from_document(document) else {
        return Ok(vec![no_version(of.file, document)]);
    };
    let changes = without_duplicates(changes(&published, document, today));
    let worst = changes.iter().map(|change| change.verdict).max();
    let least =
        worst.map_or(published_version.clone(), |worst| worst.next_version(&published_version));
    let raise = || {
        if version < published_version {
            let fix = format!("take what {name} has, or set info.version to {least}");
            return Fix::ByHand(fix);
        }
        let mut document = document.clone();
        if let Some(version) = document.pointer_mut("/info/version") {
            *version = least.to_string().into();
        }
        Fix::Write { file: of.file.to_string(), text: canonical_json::print(&document) }
    };
    let serve = || {
        Fix::ByHand(format!(
            "undo the change here, and make it in a new version: {ADD_VERSION}. The next free \
             version is v{next_major}"
        ))
    };
    let fix = |worst| if worst == Some(Verdict::Breaking) { serve() } else { raise() };
    let low = low_version(of, &published_version, &version, &least, &changes, fix);
    let is_new = [&version, &least].into_iter().any(|version| *version > published_version);
    let entries = is_new.then(|| missing_entries(changelog, &version, &least, &changes)).flatten();
    Ok(low.into_iter().chain(entries).collect())
}

fn next_free_major(published: &Published) -> u64 {
    let served = DOCUMENTS.iter().filter_map(|of| of.base_path.strip_prefix("/v")?.parse().ok());
    let published = published.versions().into_iter().map(|(version, _)| version.major);
    served.chain(published).max().unwrap_or_default() + 1
}

pub fn no_version(file: &str, document: &Value) -> Problem {
    Problem {
        place: format!("{file}#/info/version"),
        expected: "three numbers, such as 1.2.0, or, where every operation is in beta, such as \
                   2.0.0-beta.1"
            .to_string(),
        found: document.pointer("/info/version").map_or(ABSENT.to_string(), Value::to_string),
        reasons: Vec::new(),
        fix: Fix::ByHand(format!("edit {file}, then cargo xtask generate")),
    }
}

/// A change of a shared component is found once for each use of the component.
fn without_duplicates(changes: Vec<Change>) -> Vec<Change> {
    let mut distinct: Vec<Change> = Vec::new();
    for change in changes {
        let same = |other: &Change| {
            let key = |pointer: &str| pointer.rsplit('/').next().map(str::to_string);
            (&other.name, &other.description, other.verdict)
                == (&change.name, &change.description, change.verdict)
                && key(&other.pointer) == key(&change.pointer)
        };
        if !distinct.iter().any(same) {
            distinct.push(change);
        }
    }
    distinct
}

/// Returns a problem if the version is lower than `least`, the lowest version that the changes
/// allow.
fn low_version(
    of: &Document,
    published: &Version,
    version: &Version,
    least: &Version,
    changes: &[Change],
    fix: impl Fn(Option<Verdict>) -> Fix,
) -> Option<Problem> {
    if version >= least {
        return None;
    }
    let worst = changes.iter().map(|change| change.verdict).max();
    let since = |what: &str| format!("because of {what} since {published}");
    let why = match worst {
        None => format!("because {published} is published"),
        Some(Verdict::Breaking) => since("a breaking change"),
        Some(Verdict::Addition) if !published.pre.is_empty() => since("a change of a beta"),
        Some(Verdict::Addition) => since("an addition"),
        Some(Verdict::Neutral) => since("a change"),
    };
    let causes = changes.iter().filter(|change| Some(change.verdict) == worst).map(describe);
    Some(Problem {
        place: format!("{}#/info/version", of.file),
        expected: format!("{least} or later, {why}"),
        found: version.to_string(),
        reasons: listed(causes),
        fix: fix(worst),
    })
}

/// Checks that the changelog names each addition and each breaking change. The names must be in the
/// section of `version` or of `least`, whichever is higher. `least` is the lowest version that the
/// changes allow.
fn missing_entries(
    text: &str,
    version: &Version,
    least: &Version,
    changes: &[Change],
) -> Option<Problem> {
    let is_breaking = changes.iter().any(|change| change.verdict == Verdict::Breaking);
    let (title, fix) = match version < least {
        true if is_breaking => (least, format!("first fix info.version, then edit {CHANGELOG}")),
        true => (least, format!("first raise info.version, then edit {CHANGELOG}")),
        false => (version, format!("edit {CHANGELOG}")),
    };
    let section = changelog::section(text, title);
    let missing: Vec<_> = changes
        .iter()
        .filter(|change| change.verdict > Verdict::Neutral)
        .filter(|change| !changelog::names(section.unwrap_or_default(), &change.name))
        .map(|change| format!("{}: {}", change.verdict.as_str(), describe(change)))
        .collect();
    let expected = match (section, missing.is_empty()) {
        (Some(_), true) => return None,
        (None, true) => format!("a section \"## {title}\", which says what has changed"),
        (_, false) => format!("under \"## {title}\", each of these names between backticks"),
    };
    Some(Problem {
        place: CHANGELOG.to_string(),
        expected,
        found: ABSENT.to_string(),
        reasons: listed(missing),
        fix: Fix::ByHand(fix),
    })
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
