//! What changed between the published document and the one at hand, judged from
//! the side of those who call the API.
//!
//! A change is breaking if a caller who relied on the published document could
//! fail: on the wire, or because a name went after which generated clients name
//! things. What no rule judges counts as breaking. An operation that was
//! published as `beta` or `experimental` promised nothing, so its breaking
//! changes count as additions.
//!
//! References are followed first, so a change of a shared component is found
//! wherever it is used, and what merely moved is no change. There is a file for
//! each kind of object in a document.

mod at;
mod bounds;
mod composition;
mod content;
mod document;
mod inline;
mod judge;
mod members;
mod operations;
mod parameters;
mod responses;
mod schemas;
mod security;
mod servers;
mod stability;

use judge::Judge;
use serde_json::Value;

/// What a change means for callers. Ordered: the worst comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing that a program relies on: asks for a patch version.
    Neutral,
    /// More is offered or promised than before: asks for a minor version and an
    /// entry in the changelog.
    Addition,
    /// A caller could fail: asks for a major version and an entry.
    Breaking,
}

impl Verdict {
    /// The verdict as messages write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Neutral => "neutral",
            Verdict::Addition => "addition",
            Verdict::Breaking => "breaking",
        }
    }
}

/// One change and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where: a JSON pointer into the document with its references followed.
    pub place: String,
    /// What the changelog has to name: an operation, a field, a parameter, a
    /// header, a status.
    pub name: String,
    /// What it means for callers.
    pub verdict: Verdict,
    /// What happened there, in the form "is no longer sent".
    pub says: String,
}

/// Every change from one document to the other, in the order of the document.
/// `info.version` is none of them: it answers to them.
pub fn changes(published: &Value, document: &Value) -> Vec<Change> {
    let mut judge = Judge::default();
    document::judge(&mut judge, published, document);
    let changes = judge.into_changes();
    if changes.is_empty() && without_version(published) != without_version(document) {
        return vec![Change {
            place: String::new(),
            name: String::new(),
            verdict: Verdict::Neutral,
            says: "says the same in another form".to_string(),
        }];
    }
    changes
}

/// The operations that a document offers, by the name that the changelog uses.
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
