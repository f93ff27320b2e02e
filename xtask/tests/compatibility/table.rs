//! A small document, edits of it, and the assertion that each edit gets its
//! verdict and its name.

use super::today;
use serde_json::Value;
use xtask::compatibility::Verdict::{self, Neutral};
use xtask::compatibility::{Change, changes};

/// Places in the document.
pub const GET: &str = "/paths/~1things/get";
pub const POST: &str = "/paths/~1things/post";
pub const DELETE: &str = "/paths/~1things~1{thingId}/delete";
pub const LIMIT: &str = "/paths/~1things/get/parameters/0";
pub const SORT: &str = "/paths/~1things/get/parameters/1";
pub const TRACE: &str = "/paths/~1things/get/parameters/2";
pub const OK: &str = "/paths/~1things/get/responses/200";
pub const THING: &str = "/components/schemas/Thing";
pub const NEW_THING: &str = "/components/schemas/NewThing";
pub const FAILED: &str = "/components/responses/Failed";

/// One edit of a document.
pub enum Edit {
    /// Sets a value. `/-` appends to an array.
    Put(String, Value),
    /// Removes a value.
    Drop(String),
}

pub fn put(pointer: &str, value: Value) -> Edit {
    Edit::Put(pointer.to_string(), value)
}

pub fn drop(pointer: &str) -> Edit {
    Edit::Drop(pointer.to_string())
}

/// A change, its verdict, and the name that is reported.
pub type Row = (&'static str, Vec<Edit>, Verdict, &'static str);

pub fn shop() -> Value {
    serde_json::from_str(include_str!("shop.json")).unwrap()
}

pub fn edited(edits: &[Edit]) -> Value {
    let mut document = shop();
    for edit in edits {
        let (Edit::Put(pointer, _) | Edit::Drop(pointer)) = edit;
        let (parent, token) = pointer.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
        let token = token.replace("~1", "/");
        match (edit, parent) {
            (Edit::Put(_, value), Value::Object(members)) => {
                members.insert(token, value.clone());
            }
            (Edit::Put(_, value), Value::Array(elements)) if token == "-" => {
                elements.push(value.clone());
            }
            (Edit::Put(_, value), Value::Array(elements)) => {
                *elements.get_mut(token.parse::<usize>().unwrap()).unwrap() = value.clone();
            }
            (Edit::Drop(_), Value::Object(members)) => {
                members.shift_remove(&token).unwrap_or_else(|| panic!("no {pointer}"));
            }
            (Edit::Drop(_), Value::Array(elements)) => {
                elements.remove(token.parse().unwrap());
            }
            (_, other) => panic!("{pointer} is inside {other}"),
        }
    }
    document
}

/// The worst verdict among changes, and the names of the changes with it.
pub fn worst(changes: &[Change]) -> (Verdict, Vec<&str>) {
    let verdict = changes.iter().map(|change| change.verdict).max().unwrap();
    let named = changes.iter().filter(|change| change.verdict == verdict);
    (verdict, named.map(|change| change.name.as_str()).collect())
}

pub fn assert_rows(rows: Vec<Row>) {
    let mut failed = Vec::new();
    for (what, edits, verdict, name) in rows {
        let found = changes(&shop(), &edited(&edits), today());
        assert!(!found.is_empty(), "{what}: not found");
        let (judged, names) = worst(&found);
        if judged != verdict {
            failed.push(format!("{what} is no {}: {found:#?}", verdict.as_str()));
        } else if verdict != Neutral && !names.contains(&name) {
            failed.push(format!("{what} is not reported as {name}, but as {names:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
