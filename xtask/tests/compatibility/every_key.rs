//! Changes each place of version 1's document in turn, and compares the result with the original.
//! The comparison must ignore changes of `info.version` and find all others. Outside of `info`,
//! only changes of text for people may have the verdict `Neutral`.

use super::TODAY;
use crate::checkout::document;
use codegen::compare::pointers;
use codegen::pointer::take;
use serde_json::{Value, json};
use xtask::compatibility::{Verdict, changes};
use xtask::documents::V1;

/// Keys whose values are text for people. [`is_words`] has the exceptions.
const WORDS: [&str; 12] = [
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
    "externalDocs",
];

/// True if the value at `pointer` is only text for people. Returns false for tags of operations and
/// titles of schemas, because they are names in generated clients. In the example of an error, only
/// the message is text, because callers depend on the error code.
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

/// Applies `change` at each pointer of a document, except the root. `check` gets the worst verdict
/// on the changed document, or `None` if no change is found.
fn each_change(change: impl Fn(&mut Value, &str), check: impl Fn(&str, Option<Verdict>)) {
    let real = document(&V1);
    let all = pointers(&real);
    assert!(all.len() > 500, "only {} places: was the document read?", all.len());
    for pointer in all.iter().filter(|pointer| !pointer.is_empty()) {
        let mut changed = real.clone();
        change(&mut changed, pointer);
        let changes = changes(&real, &changed, TODAY.parse().unwrap());
        check(pointer, changes.iter().map(|change| change.verdict).max());
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
    // The compatibility rules compare some components only in the operations that use them. If no
    // operation uses such a component, the rules find no change in it, and this test fails.
    each_change(replace, assert_verdict);
}
