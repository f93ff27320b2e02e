//! Walks the real document: no change of it goes unnoticed, and none passes for
//! mere words that is more.

use serde_json::{Value, json};
use xtask::compare::pointer_to;
use xtask::compatibility::{Verdict, changes};
use xtask::repository::{DOCUMENT, Repository};

/// Keys under which everything is written for people, and places whose contents
/// are judged where they are used.
const WORDS: [&str; 9] = [
    "description",
    "summary",
    "title",
    "example",
    "examples",
    "contact",
    "license",
    "bearerFormat",
    "tags",
];

fn document() -> Value {
    serde_json::from_str(&Repository::here().read(DOCUMENT).unwrap()).unwrap()
}

fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_string());
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                pointers(member, &pointer_to(at, key), found);
            }
        }
        Value::Array(elements) => {
            for (position, element) in elements.iter().enumerate() {
                pointers(element, &pointer_to(at, &position.to_string()), found);
            }
        }
        _ => {}
    }
}

/// Whether a place is written for people alone. Tags of operations and titles
/// of schemas are not: generated clients name things after them.
fn is_words(pointer: &str) -> bool {
    let keys: Vec<_> = pointer.split('/').skip(1).collect();
    let first_words = keys.iter().position(|key| WORDS.contains(key));
    match (keys.first(), first_words.and_then(|position| keys.get(position))) {
        (Some(&"paths"), Some(&"tags")) => false,
        (Some(&("paths" | "components")), Some(&"title")) => false,
        (_, words) => words.is_some(),
    }
}

/// The worst verdict of each change of the document, one change at a time.
fn each_change(change: impl Fn(&mut Value, &str), check: impl Fn(&str, Option<Verdict>)) {
    let real = document();
    let mut all = Vec::new();
    pointers(&real, "", &mut all);
    assert!(all.len() > 500, "was the document read?");
    for pointer in all.iter().filter(|pointer| !pointer.is_empty()) {
        let mut changed = real.clone();
        change(&mut changed, pointer);
        let found = changes(&real, &changed);
        check(pointer, found.iter().map(|change| change.verdict).max());
    }
}

fn assert_weighed(pointer: &str, verdict: Option<Verdict>) {
    if pointer.starts_with("/info/version") {
        return assert_eq!(verdict, None);
    }
    assert!(verdict.is_some(), "{pointer}: not noticed");
    if is_words(pointer) {
        assert_eq!(verdict, Some(Verdict::Neutral), "{pointer}");
    } else if !pointer.starts_with("/info") {
        assert!(verdict > Some(Verdict::Neutral), "{pointer} passes for words");
    }
}

#[test]
fn whatever_is_taken_away_is_weighed() {
    let take = |document: &mut Value, pointer: &str| {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(parent).unwrap() {
            Value::Object(members) => {
                members.shift_remove(&key.replace("~1", "/").replace("~0", "~")).unwrap();
            }
            Value::Array(elements) => {
                elements.remove(key.parse().unwrap());
            }
            other => panic!("{pointer} is inside {other}"),
        }
    };
    each_change(take, assert_weighed);
}

#[test]
fn whatever_is_replaced_is_weighed() {
    let replace = |document: &mut Value, pointer: &str| {
        let value = document.pointer_mut(pointer).unwrap();
        *value = match &*value {
            Value::Bool(flag) => json!(!flag),
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::String(text) => json!(format!("{text}x")),
            _ => json!("gone"),
        };
    };
    each_change(replace, |pointer, verdict| {
        // A component that nothing uses may be anything; all of ours are used.
        assert_weighed(pointer, verdict);
    });
}
