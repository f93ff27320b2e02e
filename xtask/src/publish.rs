//! `cargo xtask publish`: copies new versions of the documents to `spec/published`.

use crate::Outcome;
use crate::check::{Inputs, Problem, check, no_version};
use crate::compatibility::operation_names;
use crate::documents::DOCUMENTS;
use crate::emitted::Emitted;
use crate::evidence::Condition;
use crate::published::{PUBLISHED, Published, file_name};
use crate::repository::{CHANGELOG, Repository};
use crate::{canonical_json, changelog, version};
use semver::Version;
use std::io::Write;

/// Writes `spec/published/VERSION.json` for each document whose version is not published yet.
/// Publishes nothing unless all of this holds:
///
/// - Every check passes.
/// - The changelog has a section for each of these versions.
/// - The `conditions` are met.
pub fn publish(
    repository: &Repository,
    emitted: impl FnOnce(&Repository) -> Emitted + 'static,
    conditions: &[Condition],
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let outcome = check(&Inputs::read(repository, emitted), false, out)?;
    if outcome != Outcome::Clean {
        writeln!(out, "Nothing was published: fix the above first.")?;
        return Ok(outcome);
    }
    let published = Published::read(repository)?;
    let documents = match find_unpublished(repository, &published)? {
        Ok(documents) => documents,
        Err(reason) => {
            writeln!(out, "Nothing was published: {reason}.")?;
            return Ok(Outcome::Drift);
        }
    };
    writeln!(out, "Looking for a tested commit, and running the tests of the documents …")?;
    for condition in conditions {
        let lines = condition(repository)?;
        if !lines.is_empty() {
            writeln!(out, "Nothing was published:")?;
            lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
            return Ok(Outcome::Drift);
        }
    }
    for (version, text) in documents {
        let name = file_name(&version);
        repository.create(&format!("{PUBLISHED}/{name}"), &text)?;
        writeln!(out, "Published {PUBLISHED}/{name}. Commit it.")?;
    }
    Ok(Outcome::Clean)
}

/// Returns the unpublished versions with their documents, or the reason why nothing can be
/// published. Each unpublished version needs a section in the changelog.
fn find_unpublished(
    repository: &Repository,
    published: &Published,
) -> anyhow::Result<Result<Vec<(Version, String)>, String>> {
    let (mut documents, mut already_published) = (Vec::new(), Vec::new());
    for of in DOCUMENTS {
        let text = repository.read(of.file)?;
        let document = canonical_json::parse(of.file, &text)?;
        let Some(version) = version::from_document(&document) else {
            let Problem { place, expected, .. } = no_version(of.file, &document);
            return Ok(Err(format!("{place} is not of {expected}")));
        };
        if published.files.contains_key(&file_name(&version)) {
            already_published.push(version.to_string());
            continue;
        }
        // If no version is published, the changelog must name every operation. If an earlier
        // version is published, `check` has already verified that the changelog names every change
        // since that version.
        let operations = match published.newest(of) {
            None => operation_names(&document),
            Some(_) => Vec::new(),
        };
        if let Err(reason) = check_entry(&repository.read(CHANGELOG)?, &version, &operations) {
            return Ok(Err(reason));
        }
        documents.push((version, text));
    }
    Ok(match documents.is_empty() {
        true => {
            let versions = already_published.join(", ");
            Err(format!("already published, and cannot change: {versions}"))
        }
        false => Ok(documents),
    })
}

fn check_entry(changelog: &str, version: &Version, operations: &[String]) -> Result<(), String> {
    let Some(section) = changelog::section(changelog, version) else {
        return Err(format!("{CHANGELOG} has no heading \"## {version}\""));
    };
    if section.is_empty() {
        return Err(format!("{CHANGELOG} says nothing under \"## {version}\""));
    }
    let is_missing = |name: &&String| !changelog::names(section, name);
    let missing: Vec<_> = operations.iter().filter(is_missing).map(String::as_str).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("{CHANGELOG} does not name {} under \"## {version}\"", missing.join(", ")))
        }
    }
}
