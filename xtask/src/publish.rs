//! `cargo xtask publish`: keeps the document as it is released.

use crate::Outcome;
use crate::check::{Inputs, check, no_version};
use crate::compatibility::operation_names;
use crate::published::{PUBLISHED, Published, SUMS, checksum, file_name};
use crate::repository::{CHANGELOG, DOCUMENT, Repository};
use crate::{canonical_json, changelog, version};
use semver::Version;
use serde_json::Value;
use std::io::Write;

/// Writes `spec/published/VERSION.json` if every check passes, the changelog
/// has a section for the version, and the version is not published yet.
pub fn publish(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let outcome = check(&Inputs::read(repository), out)?;
    if outcome != Outcome::Clean {
        writeln!(out, "Nothing was published: fix the above first.")?;
        return Ok(outcome);
    }
    let text = repository.read(DOCUMENT)?;
    let published = Published::read(repository)?;
    match publishable(repository, &canonical_json::parse(DOCUMENT, &text)?, &published)? {
        Err(reason) => {
            writeln!(out, "Nothing was published: {reason}.")?;
            Ok(Outcome::Drift)
        }
        Ok(version) => {
            write(repository, &published, &version, &text)?;
            let name = file_name(&version);
            writeln!(out, "Published {PUBLISHED}/{name}. Commit it with {PUBLISHED}/{SUMS}.")?;
            Ok(Outcome::Clean)
        }
    }
}

/// The version of a document that passes every check, or why it is not to be
/// published.
fn publishable(
    repository: &Repository,
    document: &Value,
    published: &Published,
) -> anyhow::Result<Result<Version, String>> {
    let Some(version) = version::of_document(document) else {
        return Ok(Err(format!("info.version {}", no_version().details.join(" "))));
    };
    if published.files.contains_key(&file_name(&version)) {
        return Ok(Err(format!("{version} is already published and cannot change")));
    }
    let Some(section) = changelog::section(&repository.read(CHANGELOG)?, &version) else {
        return Ok(Err(format!("{CHANGELOG} has no heading \"## {version}\"")));
    };
    if section.is_empty() {
        return Ok(Err(format!("{CHANGELOG} says nothing under \"## {version}\"")));
    }
    // With a published version, the check has compared the changelog to every change.
    let unnamed: Vec<_> = operation_names(document)
        .into_iter()
        .filter(|_| published.newest().is_none())
        .filter(|operation| !changelog::names(&section, operation))
        .collect();
    Ok(if unnamed.is_empty() {
        Ok(version)
    } else {
        Err(format!("{CHANGELOG} does not name {} under \"## {version}\"", unnamed.join(", ")))
    })
}

/// The checksum is written last: the check reports a document without one, so an
/// interrupted command does not pass for a publication.
fn write(
    repository: &Repository,
    published: &Published,
    version: &Version,
    text: &str,
) -> anyhow::Result<()> {
    let name = file_name(version);
    repository.create(&format!("{PUBLISHED}/{name}"), text)?;
    let sums = format!("{}{}  {name}\n", published.sums, checksum(text.as_bytes()));
    repository.write(&format!("{PUBLISHED}/{SUMS}"), &sums)
}
