//! `cargo xtask publish`: keeps the document as it goes out, for good.

use crate::Outcome;
use crate::changelog;
use crate::check::{Inputs, check, no_version, version_of_document};
use crate::compatibility::operation_names;
use crate::published::{PUBLISHED, Published, SUMS, checksum, file_name};
use crate::repository::{CHANGELOG, DOCUMENT, Repository};
use crate::strict_json;
use crate::version::Version;
use serde_json::Value;
use std::io::Write;

/// Writes `spec/published/VERSION.json` if every check passes, the changelog
/// has a section for the version, and that version was not published before.
pub fn publish(repository: &Repository, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let outcome = check(&Inputs::of(repository), out)?;
    if outcome != Outcome::Clean {
        writeln!(out, "Nothing was published: mend the above first.")?;
        return Ok(outcome);
    }
    let text = repository.read(DOCUMENT)?;
    let document = strict_json::read(DOCUMENT, &text)?.value;
    let published = Published::of(repository)?;
    let refused = match version_of_document(&document) {
        None => Err(format!("info.version {}", no_version().lines.join(" "))),
        Some(version) => {
            refusal(repository, &document, &published, version)?.map_or(Ok(version), Err)
        }
    };
    match refused {
        Err(why) => {
            writeln!(out, "Nothing was published: {why}.")?;
            Ok(Outcome::Drift)
        }
        Ok(version) => {
            write_down(repository, &published, version, &text)?;
            writeln!(
                out,
                "Published {PUBLISHED}/{}. Commit it with {PUBLISHED}/{SUMS}.",
                file_name(version)
            )?;
            Ok(Outcome::Clean)
        }
    }
}

/// Why a document that passes every check is not to be published.
fn refusal(
    repository: &Repository,
    document: &Value,
    published: &Published,
    version: Version,
) -> anyhow::Result<Option<String>> {
    if published.files.contains_key(&file_name(version)) {
        return Ok(Some(format!("{version} is published already, and stays as it is")));
    }
    let Some(section) = changelog::section(&repository.read(CHANGELOG)?, version) else {
        return Ok(Some(format!("{CHANGELOG} has no heading \"## {version}\"")));
    };
    if section.is_empty() {
        return Ok(Some(format!("{CHANGELOG} says nothing under \"## {version}\"")));
    }
    if published.newest().is_some() {
        // The check has held the changelog to every change.
        return Ok(None);
    }
    let unnamed: Vec<_> = operation_names(document)
        .into_iter()
        .filter(|operation| !changelog::names(&section, operation))
        .collect();
    Ok((!unnamed.is_empty()).then(|| {
        format!("{CHANGELOG} does not name {} under \"## {version}\"", unnamed.join(", "))
    }))
}

/// The checksum is written last: a document without one is reported by the
/// check, so that what was cut short does not pass for published.
fn write_down(
    repository: &Repository,
    published: &Published,
    version: Version,
    text: &str,
) -> anyhow::Result<()> {
    let name = file_name(version);
    repository.create(&format!("{PUBLISHED}/{name}"), text)?;
    let sums = format!("{}{}  {name}\n", published.sums, checksum(text.as_bytes()));
    repository.write(&format!("{PUBLISHED}/{SUMS}"), &sums)
}
