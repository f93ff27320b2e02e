//! The changes from the published document to the current one, each with what it
//! means for those who call the API.
//!
//! A change is breaking if a caller who relied on the published document could
//! fail: on the wire, or because generated clients name things after a name that
//! is removed. A change that no rule covers counts as breaking. An operation that
//! was published as `beta` or `experimental` promised nothing, so its breaking
//! changes count as additions.
//!
//! References are resolved first, so a change of a shared component is found
//! wherever it is used, and what only moved is no change. There is a file for
//! each kind of object in a document.

mod bounds;
mod change;
mod content;
mod document;
mod findings;
mod location;
mod members;
mod operations;
mod parameters;
mod references;
mod responses;
mod schemas;
mod security;
mod servers;
mod stability;

pub use change::{Change, Verdict};

use findings::Findings;
use serde_json::Value;

/// Every change from one document to the other, in the order of the document.
/// `info.version` is not reported: it follows from the changes.
pub fn changes(published: &Value, document: &Value) -> Vec<Change> {
    let mut findings = Findings::default();
    document::compare(&mut findings, published, document);
    let changes = findings.into_changes();
    if changes.is_empty() && without_version(published) != without_version(document) {
        return vec![Change {
            pointer: String::new(),
            name: String::new(),
            verdict: Verdict::Neutral,
            description: "says the same in another form".to_string(),
        }];
    }
    changes
}

/// The operations of a document, by the name that the changelog uses.
pub fn operation_names(document: &Value) -> Vec<String> {
    operations::names(document)
}

fn without_version(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(Value::Object(info)) = document.get_mut("info") {
        info.shift_remove("version");
    }
    document
}
