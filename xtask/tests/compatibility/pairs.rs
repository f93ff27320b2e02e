//! Tests the pairs of documents in `pairs/*.json`. Each pair states the expected verdict and the
//! expected place of the change. The pairs follow from the rules in `xtask/src/compatibility.rs`.
//!
//! `frame` names the document around the fragments `old` and `new`. A place is a pointer relative
//! to the fragment. `reversed` is the expected verdict if `new` is changed to `old`.

use super::TODAY;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use xtask::compatibility::{Change, Verdict, changes};

const FILES: [&str; 8] = [
    include_str!("pairs/fields.json"),
    include_str!("pairs/values.json"),
    include_str!("pairs/composition.json"),
    include_str!("pairs/parameters.json"),
    include_str!("pairs/messages.json"),
    include_str!("pairs/operations.json"),
    include_str!("pairs/promises.json"),
    include_str!("pairs/equivalent.json"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    row: String,
    rule: String,
    frame: String,
    old: Value,
    new: Value,
    #[serde(rename = "is")]
    forward: String,
    reversed: Option<String>,
    name: Option<String>,
    today: Option<String>,
}

fn all_pairs() -> Vec<Pair> {
    FILES.iter().flat_map(|file| serde_json::from_str::<Vec<Pair>>(file).unwrap()).collect()
}

const THINGS: &str = "/paths/~1things/get";

/// Returns a document with the fragment at the place `frame`, such as `response`, and the pointer
/// to the fragment.
fn frame_fragment(frame: &str, fragment: &Value) -> (Value, String) {
    let json_content = || json!({ "application/json": { "schema": fragment } });
    let with = |key: &str, value: Value| {
        let mut operation = Map::new();
        operation.insert(key.to_string(), value);
        operation
    };
    let (members, place) = match frame {
        "response" => (
            with("responses", json!({ "200": { "description": "", "content": json_content() } })),
            "/responses/200/content/application~1json/schema",
        ),
        "request" => (
            with("requestBody", json!({ "content": json_content() })),
            "/requestBody/content/application~1json/schema",
        ),
        "header" => (
            with(
                "responses",
                json!({ "200": { "description": "", "headers": { "H": fragment } } }),
            ),
            "/responses/200/headers/H",
        ),
        "query" => {
            let mut parameter = json!({ "in": "query", "name": "q" });
            parameter.as_object_mut().unwrap().extend(fragment.as_object().unwrap().clone());
            (with("parameters", json!([parameter])), "/parameters/query q")
        }
        "responses" => (with("responses", fragment.clone()), "/responses"),
        "operation" => (fragment.as_object().unwrap().clone(), ""),
        "paths" => return (document(&json!({ "paths": fragment })), "/paths".to_string()),
        "document" => return (document(fragment), String::new()),
        other => panic!("there is no frame {other}"),
    };
    let mut operation = json!({ "operationId": "listThings", "responses": {} });
    operation.as_object_mut().unwrap().extend(members);
    let paths = json!({ "paths": { "/things": { "get": operation } } });
    (document(&paths), format!("{THINGS}{place}"))
}

fn document(members: &Value) -> Value {
    let mut document = json!({
        "openapi": "3.0.3",
        "info": { "title": "T", "version": "1.0.0" },
        "paths": { "/things": { "get": { "operationId": "listThings", "responses": {} } } },
    });
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    document
}

/// Returns a message if the changes do not have the expected verdict, place and name. `expected` is
/// a verdict, optionally followed by a space and the path from `place` to the change.
fn mismatch(expected: &str, place: &str, name: Option<&str>, changes: &[Change]) -> Option<String> {
    let (verdict, suffix) = expected.split_once(' ').unwrap_or((expected, ""));
    let worst = changes.iter().map(|change| change.verdict).max();
    if worst.unwrap_or(Verdict::Neutral).as_str() != verdict {
        return Some(format!("expected {expected}"));
    }
    let worst: Vec<_> = changes.iter().filter(|change| Some(change.verdict) == worst).collect();
    let pointer = format!("{place}{suffix}");
    if verdict != "neutral" && !worst.iter().any(|change| change.pointer == pointer) {
        return Some(format!("no message names {pointer}"));
    }
    let is_named = |name: &str| worst.iter().any(|change| change.name == name);
    name.filter(|name| !is_named(name)).map(|name| format!("no message is about {name}"))
}

#[test]
fn every_pair_has_its_verdict_and_its_place() {
    let mut failed = Vec::new();
    let (mut count, mut names) = (0, BTreeSet::new());
    for pair in all_pairs() {
        assert!(names.insert(pair.row.clone()), "{} is listed twice", pair.row);
        assert!(!pair.rule.is_empty(), "{} cites no rule", pair.row);
        let (old, place) = frame_fragment(&pair.frame, &pair.old);
        let (new, _) = frame_fragment(&pair.frame, &pair.new);
        let today = pair.today.as_deref().unwrap_or(TODAY).parse().unwrap();
        let forward = (&old, &new, Some(&pair.forward), pair.name.as_deref());
        let reversed = (&new, &old, pair.reversed.as_ref(), None);
        for (old, new, expected, name) in [forward, reversed] {
            let Some(expected) = expected else { continue };
            let changes = changes(old, new, today);
            count += 1;
            assert!(!changes.is_empty() || old == new, "{}: not found", pair.row);
            if let Some(mismatch) = mismatch(expected, &place, name, &changes) {
                let direction =
                    if std::ptr::eq(expected, &pair.forward) { "" } else { "reversed: " };
                failed.push(format!(
                    "{direction}{} ({}): {mismatch}: {changes:#?}",
                    pair.row, pair.rule
                ));
            }
        }
        assert_eq!(changes(&old, &old, today), [], "{}: unchanged", pair.row);
    }
    assert!(failed.is_empty(), "{} of {count}:\n{}", failed.len(), failed.join("\n"));
    assert!(count > 390 && names.len() > 200, "only {count} verdicts on {} pairs", names.len());
}

#[test]
fn the_first_optional_parameter_makes_the_clients_method_a_builder() {
    let parameter =
        |name: &str| json!({ "in": "query", "name": name, "schema": { "type": "string" } });
    let document = |names: &[&str]| {
        let parameters: Vec<_> = names.iter().map(|name| parameter(name)).collect();
        frame_fragment("operation", &json!({ "parameters": parameters })).0
    };
    let text = |old: &[&str], new: &[&str]| {
        let changes = changes(&document(old), &document(new), TODAY.parse().unwrap());
        changes.into_iter().map(|change| change.description).collect::<String>()
    };
    assert!(
        text(&[], &["a"]).contains("the client's major version rises"),
        "{}",
        text(&[], &["a"])
    );
    assert_eq!(text(&["a"], &["a", "b"]), "is a new optional parameter");
}
