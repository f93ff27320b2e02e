//! Tools that read the documents.

use super::setup::Setup;
use super::tools::output_lines;
use crate::documents::{DOCUMENTS, Document};
use anyhow::Context;
use codegen::pointer::{put, take};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// What they find in the documents as they are checked in.
pub(super) fn checked_in(setup: &Setup) -> anyhow::Result<Vec<String>> {
    findings(setup, "spectral.yaml", &setup.documents())
}

/// What all of them find in these documents, Spectral by these rules.
pub(super) fn findings(
    setup: &Setup,
    rules: &str,
    documents: &[PathBuf],
) -> anyhow::Result<Vec<String>> {
    let mut validator = setup.tools.python("openapi-spec-validator");
    validator.arg("--errors=all");
    // The strict set has no warnings: every finding is an error.
    let mut redocly = setup.tools.node("redocly");
    redocly.arg("lint").arg("--config").arg(setup.tools.source("redocly.yaml"));
    let tools = [validator, redocly, spectral(setup, rules)];
    let found = tools.into_iter().map(|mut tool| output_lines(tool.args(documents)));
    Ok(found.collect::<Result<Vec<_>, _>>()?.concat())
}

fn spectral(setup: &Setup, rules: &str) -> Command {
    let mut command = setup.tools.node("spectral");
    command.args(["lint", "--fail-severity=hint", "--ruleset"]);
    command.arg(setup.tools.source(rules));
    command
}

/// A change of a document: a pointer, and the value to put there; without a value the member is
/// removed.
pub(super) type Change = (&'static str, Option<fn() -> Value>);

/// The document with this change.
pub(super) fn changed(document: &Value, (pointer, value): Change) -> Option<Value> {
    let mut document = document.clone();
    match value {
        Some(value) => put(&mut document, pointer, value())?,
        None => drop(take(&mut document, pointer)?),
    }
    Some(document)
}

/// A violation of each of our rules.
const VIOLATIONS: [(&str, Change); 21] = [
    ("rate-limit-headers", ("/components/responses/ServerError/headers/X-RateLimit-Limit", None)),
    (
        "rate-limit-headers",
        ("/components/responses/Unauthorized/headers/X-RateLimit-Remaining", None),
    ),
    (
        "rate-limit-headers",
        ("/components/responses/TooManyRequests/headers/X-RateLimit-Reset", None),
    ),
    ("rate-limit-headers", ("/paths/~1store~1orders/get/responses/200/headers/x-request-id", None)),
    ("headers-everywhere", ("/paths/~1store~1orders/get/responses/200/headers", None)),
    ("always-declared-errors", ("/paths/~1store~1orders/get/responses/401", None)),
    ("always-declared-errors", ("/paths/~1store~1orders~1{orderId}/delete/responses/429", None)),
    ("always-declared-errors", ("/paths/~1pets~1{petId}/get/responses/5XX", None)),
    ("retry-after-on-429", ("/components/responses/TooManyRequests/headers/Retry-After", None)),
    ("retry-after-on-429", ("/components/headers/Retry-After/required", None)),
    ("retry-after-on-failure", ("/components/responses/ServerError/headers/Retry-After", None)),
    ("challenge-on-401", ("/components/responses/Unauthorized/headers/WWW-Authenticate", None)),
    ("sunset-with-deprecated", ("/paths/~1pets~1{petId}/get/responses/404/headers/Sunset", None)),
    (
        "sunset-with-deprecated",
        ("/paths/~1pets~1{petId}/get/responses/200/headers/Deprecation", None),
    ),
    ("sunset-with-deprecated", ("/paths/~1pets~1{petId}/get/responses/5XX/headers/Link", None)),
    ("sunset-only-with-deprecated", ("/paths/~1pets~1{petId}/get/deprecated", None)),
    ("stability", ("/paths/~1store~1orders/get/x-stability", None)),
    ("stability", ("/paths/~1store~1orders/get/x-stability", Some(|| json!("solid")))),
    (
        "one-error-shape",
        (
            "/components/responses/ServerError/content",
            Some(|| json!({ "application/json": { "schema": { "type": "object" } } })),
        ),
    ),
    (
        "one-error-shape",
        ("/paths/~1pets~1{petId}/get/responses/404/content", Some(|| json!({ "text/plain": {} }))),
    ),
    ("base-path", ("/servers/1", Some(|| json!({ "url": "https://orders.example" })))),
];

/// A rule that matches nothing has no findings either, so each is run on
/// documents that violate it.
pub(super) fn broken_documents(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let findings = DOCUMENTS.into_iter().map(|of| broken_document(of, setup));
    Ok(findings.collect::<Result<Vec<_>, _>>()?.concat())
}

fn broken_document(of: &Document, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let document: Value = serde_json::from_str(&setup.repository.read(of.file)?)?;
    let directory = tempfile::tempdir()?;
    // Only the first version has pets.
    let of_it = |(_, (pointer, _)): &(&str, Change)| !of.is_beta || !pointer.contains("pets");
    let cases: Vec<_> = VIOLATIONS.into_iter().filter(of_it).collect();
    let mut command = spectral(setup, "spectral.yaml");
    command.args(["--format", "json", "--quiet"]);
    for (number, (rule, change)) in cases.iter().enumerate() {
        let text = changed(&document, *change)
            .with_context(|| format!("{rule}: {} has no {}", of.file, change.0))?
            .to_string();
        let path = directory.path().join(format!("{number}.json"));
        std::fs::write(&path, text)?;
        command.arg(path);
    }
    let output = command.output().context("cannot run spectral")?;
    let found: Value =
        serde_json::from_slice(&output.stdout).context("spectral printed no JSON")?;
    let found: BTreeSet<String> =
        found.as_array().into_iter().flatten().filter_map(finding).collect();
    Ok((0..)
        .zip(&cases)
        .filter(|(number, (rule, ..))| !found.contains(&format!("{number}.json {rule}")))
        .map(|(_, (rule, (pointer, _)))| {
            format!("{rule} does not detect a change of {pointer} in {}", of.file)
        })
        .collect())
}

fn finding(finding: &Value) -> Option<String> {
    let (_, file) = finding.get("source")?.as_str()?.rsplit_once('/')?;
    Some(format!("{file} {}", finding.get("code")?.as_str()?))
}
