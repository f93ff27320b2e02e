//! Tools that read the documents.

use super::setup::Setup;
use super::tools::output_lines;
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use store_orders_api::documents::{DOCUMENTS, Document};

pub(super) fn validator(setup: &Setup) -> anyhow::Result<Vec<String>> {
    output_lines(validator_command(setup).args(setup.documents()))
}

pub(super) fn validator_command(setup: &Setup) -> Command {
    let mut command = setup.tools.python("openapi-spec-validator");
    command.arg("--errors=all");
    command
}

pub(super) fn redocly(setup: &Setup) -> anyhow::Result<Vec<String>> {
    output_lines(redocly_command(setup).args(setup.documents()))
}

/// The strict set has no warnings: every finding is an error.
pub(super) fn redocly_command(setup: &Setup) -> Command {
    let mut command = setup.tools.node("redocly");
    command.arg("lint").arg("--config").arg(setup.tools.source("redocly.yaml"));
    command
}

pub(super) fn spectral(setup: &Setup) -> anyhow::Result<Vec<String>> {
    output_lines(spectral_command(setup, "spectral.yaml").args(setup.documents()))
}

pub(super) fn spectral_command(setup: &Setup, rules: &str) -> Command {
    let mut command = setup.tools.node("spectral");
    command.args(["lint", "--fail-severity=hint", "--ruleset"]);
    command.arg(setup.tools.source(rules));
    command
}

/// A way to violate one of our rules: the rule, a pointer into the document, and
/// the value to put there; without a value the member is removed.
type Violation = (&'static str, &'static str, Option<fn() -> Value>);

/// A rule that matches nothing has no findings either, so each is run on
/// documents that violate it.
pub(super) fn broken_documents(setup: &Setup) -> anyhow::Result<Vec<String>> {
    let findings = DOCUMENTS.into_iter().map(|of| broken_document(of, setup));
    Ok(findings.collect::<Result<Vec<_>, _>>()?.concat())
}

fn broken_document(of: &Document, setup: &Setup) -> anyhow::Result<Vec<String>> {
    let document: Value = serde_json::from_str(&setup.repository.read(of.file)?)?;
    let directory = tempfile::tempdir()?;
    let mut cases = violations();
    // Only the first version has pets.
    cases.retain(|(_, pointer, _)| of.is_first() || !pointer.contains("pets"));
    let mut command = spectral_command(setup, "spectral.yaml");
    command.args(["--format", "json", "--quiet"]);
    for (number, (rule, pointer, value)) in cases.iter().enumerate() {
        let text = changed(&document, pointer, *value)
            .with_context(|| format!("{rule}: {} has no {pointer}", of.file))?
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
        .map(|(_, (rule, pointer, _))| {
            format!("{rule} does not detect a change of {pointer} in {}", of.file)
        })
        .collect())
}

fn finding(finding: &Value) -> Option<String> {
    let (_, file) = finding.get("source")?.as_str()?.rsplit_once('/')?;
    Some(format!("{file} {}", finding.get("code")?.as_str()?))
}

fn changed(document: &Value, pointer: &str, value: Option<fn() -> Value>) -> Option<Value> {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/')?;
    let parent = document.pointer_mut(parent)?;
    match value {
        Some(value) => {
            let key = key.to_string();
            match parent {
                Value::Array(elements) => *elements.get_mut(key.parse::<usize>().ok()?)? = value(),
                other => *other.get_mut(&key)? = value(),
            }
        }
        None => {
            parent.as_object_mut()?.shift_remove(key)?;
        }
    }
    Some(document)
}

fn violations() -> Vec<Violation> {
    let shared = [
        ("rate-limit-headers", "/components/responses/ServerError/headers/X-RateLimit-Limit"),
        ("rate-limit-headers", "/components/responses/Unauthorized/headers/X-RateLimit-Remaining"),
        ("rate-limit-headers", "/components/responses/TooManyRequests/headers/X-RateLimit-Reset"),
        ("rate-limit-headers", "/paths/~1store~1orders/get/responses/200/headers/x-request-id"),
        ("headers-everywhere", "/paths/~1store~1orders/get/responses/200/headers"),
        ("always-declared-errors", "/paths/~1store~1orders/get/responses/401"),
        ("always-declared-errors", "/paths/~1store~1orders~1{orderId}/delete/responses/429"),
        ("always-declared-errors", "/paths/~1pets~1{petId}/get/responses/5XX"),
        ("retry-after-on-429", "/components/responses/TooManyRequests/headers/Retry-After"),
        ("retry-after-on-429", "/components/headers/Retry-After/required"),
        ("retry-after-on-failure", "/components/responses/ServerError/headers/Retry-After"),
        ("challenge-on-401", "/components/responses/Unauthorized/headers/WWW-Authenticate"),
        ("sunset-with-deprecated", "/paths/~1pets~1{petId}/get/responses/404/headers/Sunset"),
        ("sunset-with-deprecated", "/paths/~1pets~1{petId}/get/responses/200/headers/Deprecation"),
        ("sunset-with-deprecated", "/paths/~1pets~1{petId}/get/responses/5XX/headers/Link"),
        ("sunset-only-with-deprecated", "/paths/~1pets~1{petId}/get/deprecated"),
        ("stability", "/paths/~1store~1orders/get/x-stability"),
    ];
    let mut cases: Vec<Violation> =
        shared.into_iter().map(|(rule, pointer)| (rule, pointer, None)).collect();
    cases.extend::<[Violation; 4]>([
        ("stability", "/paths/~1store~1orders/get/x-stability", Some(|| json!("solid"))),
        (
            "one-error-shape",
            "/components/responses/ServerError/content",
            Some(|| json!({ "application/json": { "schema": { "type": "object" } } })),
        ),
        (
            "one-error-shape",
            "/paths/~1pets~1{petId}/get/responses/404/content",
            Some(|| json!({ "text/plain": {} })),
        ),
        ("base-path", "/servers/1", Some(|| json!({ "url": "https://orders.example" }))),
    ]);
    cases
}
