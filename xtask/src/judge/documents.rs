//! Those who judge the document alone.

use super::Court;
use super::tools::said;
use crate::repository::DOCUMENT;
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;

pub(super) fn validator(court: &Court) -> anyhow::Result<Option<String>> {
    let document = court.repository.root().join(DOCUMENT);
    said(court.tools.python("openapi-spec-validator").arg("--errors=all").arg(document))
}

/// The strict set has no warnings: whatever it finds is an error.
pub(super) fn redocly(court: &Court) -> anyhow::Result<Option<String>> {
    let mut command = court.tools.node("redocly");
    command.arg("lint").arg("--config").arg(court.tools.source("redocly.yaml"));
    said(command.arg(court.repository.root().join(DOCUMENT)))
}

pub(super) fn spectral(court: &Court) -> anyhow::Result<Option<String>> {
    said(spectral_command(court).arg(court.repository.root().join(DOCUMENT)))
}

fn spectral_command(court: &Court) -> Command {
    let mut command = court.tools.node("spectral");
    command.args(["lint", "--fail-severity=hint", "--ruleset"]);
    command.arg(court.tools.source("spectral.yaml"));
    command
}

/// A promise that one of our rules guards: the rule, the place in the document,
/// and what to put there instead; nothing takes the place away.
type Broken = (&'static str, &'static str, Option<fn() -> Value>);

/// A rule that matches nothing is silent too, so each is shown a document in
/// which what it guards is broken.
pub(super) fn rules_bite(court: &Court) -> anyhow::Result<Option<String>> {
    let document: Value = serde_json::from_str(&court.repository.read(DOCUMENT)?)?;
    let directory = tempfile::tempdir()?;
    let cases = broken();
    let mut command = spectral_command(court);
    command.args(["--format", "json", "--quiet"]);
    for (number, (rule, pointer, value)) in cases.iter().enumerate() {
        let text = changed(&document, pointer, *value)
            .with_context(|| format!("{rule}: the document has no {pointer}"))?
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
    let silent: Vec<String> = (0..)
        .zip(&cases)
        .filter(|(number, (rule, ..))| !found.contains(&format!("{number}.json {rule}")))
        .map(|(_, (rule, pointer, _))| format!("{rule} does not notice a change of {pointer}"))
        .collect();
    Ok((!silent.is_empty()).then(|| silent.join("\n")))
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

fn broken() -> Vec<Broken> {
    let shared = [
        ("rate-limit-headers", "/components/responses/ServerError/headers/X-RateLimit-Limit"),
        ("rate-limit-headers", "/components/responses/Unauthorized/headers/X-RateLimit-Remaining"),
        ("rate-limit-headers", "/components/responses/TooManyRequests/headers/X-RateLimit-Reset"),
        ("rate-limit-headers", "/paths/~1store~1orders/get/responses/200/headers/x-request-id"),
        ("headers-everywhere", "/paths/~1store~1orders/get/responses/200/headers"),
        ("always-refusable", "/paths/~1store~1orders/get/responses/401"),
        ("always-refusable", "/paths/~1store~1orders~1{orderId}/delete/responses/429"),
        ("always-refusable", "/paths/~1pets~1{petId}/get/responses/5XX"),
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
    let mut cases: Vec<Broken> =
        shared.into_iter().map(|(rule, pointer)| (rule, pointer, None)).collect();
    cases.extend::<[Broken; 4]>([
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
