//! Changes each value of the real documents, and tests that `cargo xtask check` reports each
//! change. If dropshot emits the value, the comparison with the emitted document reports the
//! change. Otherwise, the compatibility rules report the change.

use crate::checkout::{self, document};
use chrono::NaiveDate;
use codegen::compare::{leaves, pointers};
use codegen::pointer::pointer_to;
use codegen::unemitted::{KINDS, kind_of};
use serde_json::{Value, json};
use xtask::check::check_document;
use xtask::compatibility::changes;
use xtask::documents::{DOCUMENTS, Document};
use xtask::repository::Repository;

fn emitted(source: &Document) -> Value {
    let index = DOCUMENTS.iter().position(|other| other.file == source.file).unwrap();
    checkout::emitted(&Repository::here())[index].as_ref().unwrap().clone()
}

fn places(emitted: &Value, changed: &Value) -> Vec<String> {
    check_document("", emitted, changed).into_iter().map(|problem| problem.place).collect()
}

/// Asserts that a change at `pointer` is noticed. The check against the emitted document may report
/// only `pointer` and places below it. If the check reports nothing, the compatibility rules must
/// find the change.
#[track_caller]
fn assert_noticed(emitted: &Value, real: &Value, changed: &Value, pointer: &str) {
    let places = places(emitted, changed);
    let is_at_change = |place: &String| place.starts_with(&format!("#{pointer}"));
    if !places.is_empty() && places.iter().all(is_at_change) {
        return;
    }
    assert!(places.is_empty(), "after a change of {pointer}: {places:?}");
    let today = NaiveDate::from_ymd_opt(2026, 11, 26).unwrap();
    let noticed = changes(real, changed, today);
    assert!(!noticed.is_empty(), "{pointer} is of the kind {:?}", kind_of(pointer));
}

/// Makes each change that `changes` returns, and passes the changed document to [`assert_noticed`].
/// Counts the changes of each document, and returns the lowest count.
///
/// `changes` gets a pointer and the present value. `changes` returns pairs of the pointer that the
/// check must report, and the new value.
fn each_change(changes: impl Fn(&str, &Value) -> Vec<(String, Value)>) -> usize {
    DOCUMENTS.into_iter().map(|source| each_change_of(source, &changes)).min().unwrap()
}

fn each_change_of(
    source: &Document,
    changes: impl Fn(&str, &Value) -> Vec<(String, Value)>,
) -> usize {
    let (real, emitted) = (document(source), emitted(source));
    let mut changed = real.clone();
    let mut count = 0;
    for pointer in pointers(&real) {
        for (expected, replacement) in changes(&pointer, real.pointer(&pointer).unwrap()) {
            let before = std::mem::replace(changed.pointer_mut(&pointer).unwrap(), replacement);
            assert_noticed(&emitted, &real, &changed, &expected);
            *changed.pointer_mut(&pointer).unwrap() = before;
            count += 1;
        }
    }
    assert_eq!(changed, real);
    count
}

#[test]
fn every_kind_has_leaves_and_none_of_them_is_emitted() {
    for kind in KINDS {
        let is_of_kind =
            |pointer: &str| kind_of(pointer).is_some_and(|leaf| leaf.name == kind.name);
        let count = |value: &Value| {
            leaves("", value).iter().filter(|(pointer, _)| is_of_kind(pointer)).count()
        };
        assert!(DOCUMENTS.iter().any(|source| count(&document(source)) > 0), "{}", kind.name);
        assert!(DOCUMENTS.iter().all(|source| count(&emitted(source)) == 0), "{}", kind.name);
    }
}

#[test]
fn a_change_of_any_leaf_is_noticed() {
    let count = each_change(|pointer, value| {
        let mut others = match value {
            Value::Null => vec![json!(false)],
            Value::Bool(flag) => vec![json!(!flag), json!(flag.to_string()), Value::Null],
            Value::Number(number) => {
                let integer = number.as_i64().unwrap();
                vec![json!(integer + 1), json!(integer as f64), json!(integer.to_string())]
            }
            Value::String(text) => vec![json!(format!("{text} ")), json!([text]), Value::Null],
            Value::Array(elements) if elements.is_empty() => vec![json!({}), Value::Null],
            Value::Object(members) if members.is_empty() => vec![json!([]), Value::Null],
            Value::Array(_) | Value::Object(_) => vec![],
        };
        // Values that dropshot does not emit are checked only by the compatibility rules. These
        // rules are slow, so make only one change to each such value.
        if kind_of(pointer).is_some() {
            others.truncate(1);
        }
        others.into_iter().map(|other| (pointer.to_string(), other)).collect()
    });
    assert!(count > 500, "only {count} changes: was the document read?");
}

#[test]
fn a_change_of_any_object_is_noticed() {
    each_change(|pointer, value| {
        let Value::Object(members) = value else { return vec![] };
        let without = |key: &String| {
            let mut rest = members.clone();
            rest.shift_remove(key);
            (pointer_to(pointer, key), Value::Object(rest))
        };
        let with = |added: Value| {
            let mut more = members.clone();
            more.insert("x/new~key".to_string(), added);
            (format!("{pointer}/x~1new~0key"), Value::Object(more))
        };
        let replaced = (pointer.to_string(), json!("gone"));
        let added = [with(json!("new")), with(Value::Null), replaced];
        members.keys().map(without).chain(added).collect()
    });
}

#[test]
fn a_change_of_any_array_is_noticed() {
    each_change(|pointer, value| {
        let Value::Array(elements) = value else { return vec![] };
        let without = |position: usize| {
            let mut rest = elements.clone();
            rest.remove(position);
            (pointer.to_string(), Value::Array(rest))
        };
        let with = |position: usize| {
            let mut more = elements.clone();
            more.insert(position, json!("new"));
            (pointer.to_string(), Value::Array(more))
        };
        let replaced = (pointer.to_string(), json!("gone"));
        let added = (0..=elements.len()).map(with).chain([replaced]);
        (0..elements.len()).map(without).chain(added).collect()
    });
}

#[test]
fn a_reversal_of_any_array_is_noticed() {
    for source in DOCUMENTS {
        let (real, emitted) = (document(source), emitted(source));
        for pointer in pointers(&real) {
            let mut changed = real.clone();
            let Some(Value::Array(elements)) = changed.pointer_mut(&pointer) else { continue };
            if elements.len() > 1 {
                elements.reverse();
                assert_noticed(&emitted, &real, &changed, &pointer);
            }
        }
    }
}
