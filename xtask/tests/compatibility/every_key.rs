//! Covers the whole real document: every change is found, and only changes of
//! text for people are neutral.

use super::TODAY;
use crate::checkout::document;
use codegen::pointer::take;
use serde_json::{Value, json};
use xtask::compare::pointers;
use xtask::compatibility::{Verdict, changes};
use xtask::documents::V1;

/// Keys under which everything is text for people.
const WORDS: [&str; 11] = [
    "description",
    "summary",
    "title",
    "example",
    "examples",
    "contact",
    "license",
    "x-scalar-stability",
    "x-codeSamples",
    "x-enumDescriptions",
    "tags",
];

/// Whether a place is text for people only. Tags of operations and titles of
/// schemas are not: generated clients name things after them. Nor are the examples of errors,
/// which are codes, but for their messages.
fn is_words(pointer: &str) -> bool {
    let keys: Vec<_> = pointer.split('/').skip(1).collect();
    let first_words = keys.iter().position(|key| WORDS.contains(key));
    let is_code = ["/responses/4", "/responses/5", "/components/responses/"]
        .iter()
        .any(|errors| pointer.contains(errors));
    match (keys.first(), first_words.and_then(|position| keys.get(position))) {
        (Some(&"paths"), Some(&"tags")) => false,
        (Some(&("paths" | "components")), Some(&"title")) => false,
        (_, Some(&"examples")) if is_code => pointer.ends_with("/value/message"),
        (_, words) => words.is_some(),
    }
}

/// The worst verdict of each change of the document, one change at a time.
fn each_change(change: impl Fn(&mut Value, &str), check: impl Fn(&str, Option<Verdict>)) {
    let real = document(&V1);
    let all = pointers(&real);
    assert!(all.len() > 500, "only {} places: was the document read?", all.len());
    for pointer in all.iter().filter(|pointer| !pointer.is_empty()) {
        let mut changed = real.clone();
        change(&mut changed, pointer);
        let found = changes(&real, &changed, TODAY.parse().unwrap());
        check(pointer, found.iter().map(|change| change.verdict).max());
    }
}

fn assert_verdict(pointer: &str, verdict: Option<Verdict>) {
    if pointer.starts_with("/info/version") {
        return assert_eq!(verdict, None);
    }
    assert!(verdict.is_some(), "{pointer}: not found");
    if is_words(pointer) {
        assert_eq!(verdict, Some(Verdict::Neutral), "{pointer}");
    } else if !pointer.starts_with("/info") || pointer.starts_with("/info/x-plans") {
        assert!(verdict > Some(Verdict::Neutral), "{pointer} counts as text");
    }
}

#[test]
fn every_removal_has_a_verdict() {
    each_change(|document, pointer| drop(take(document, pointer).unwrap()), assert_verdict);
}

#[test]
fn every_replacement_has_a_verdict() {
    let replace = |document: &mut Value, pointer: &str| {
        let value = document.pointer_mut(pointer).unwrap();
        *value = match &*value {
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::String(text) => json!(format!("{text}x")),
            _ => json!("gone"),
        };
    };
    // All components of the document are used, so each of them is compared.
    each_change(replace, assert_verdict);
}
