//! The changes from the published document to the current one, each with what it
//! means for those who call the API.
//!
//! A change is breaking if a caller who relied on the published document could
//! fail. Every verdict follows from these rules, and
//! `xtask/tests/compatibility/pairs` has examples of each:
//!
//! - **Values.** What callers send must stay allowed, so its set of values may
//!   only grow; what they receive must stay expected, so its set may only shrink.
//!   Where that cannot be decided, the change is breaking.
//! - **New things.** New fields, headers and errors with the body `Error` may be received, as the
//!   introduction of the document says; other bodies, new successes and media types may not. A 304
//!   may, where `If-None-Match` is new as well: no caller sends it yet.
//! - **Codes.** The examples of an error response are its operation's codes: more may come, none
//!   may go.
//! - **Names that generated clients show are promised like the wire:**
//!   `operationId`, tags, titles, parameters (those of a path too), and that a
//!   component schema or security scheme of a name exists. A reference to another
//!   schema of the same form is an addition: it changes the name of a type. Otherwise, where
//!   a schema is referred to, and the names of other components, are how the document is
//!   organised: equivalent documents are neutral.
//! - **Promises for programs.** Limits in `x-plans` may rise, plans and values of
//!   `x-extensible-enum` may be added, the day of `x-sunset` may move away. A further limit of a
//!   plan is breaking.
//! - **End of life.** A deprecated operation may be removed after the day of its
//!   `x-sunset`, with the schemas that only it uses; between the publication that first names the
//!   day and the day are at least 90 days. A version goes like its operations. Only operations
//!   have a sunset: a deprecated field or parameter goes with a major version.
//! - **Stability.** An operation that was published as `beta` or `experimental`
//!   promised nothing, nor did its schemas and servers: its breaking changes count
//!   as additions. Without `x-stability`, an operation is stable.
//! - **Anything else** is breaking, unless it is text for people: among it what no document
//!   of ours has, such as schemas made of several, `nullable`, patterns, callbacks, and servers of
//!   one operation. The first change of one needs a rule.

mod change;
mod document;
mod findings;
mod operations;
mod promises;
mod resolved;
mod schemas;

pub use change::{Change, Verdict};
pub use document::url as server_url;
pub use resolved::all_operations;

use chrono::NaiveDate;
use findings::{Findings, Place};
use serde_json::Value;

/// Every change from one document to the other, in the order of the document, as
/// it counts on this day. `info.version` is not reported: it follows from the
/// changes.
pub fn changes(published: &Value, document: &Value, today: NaiveDate) -> Vec<Change> {
    let (old, new) = (resolved::resolved(published), resolved::resolved(document));
    let mut found = Findings { today, changes: Vec::new() };
    document::compare(&mut found, &Place::documents(&old, &new));
    let changes = found.changes;
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

/// Whether a document promises nothing yet: all its operations are in beta or experimental.
pub fn is_beta(document: &Value) -> bool {
    promises::all_unstable(document)
}

/// The operations of a document, by the name that the changelog uses.
pub fn operation_names(document: &Value) -> Vec<String> {
    all_operations(document).iter().map(|(name, _)| name.to_string()).collect()
}

/// The operations of a published document that must still be there on this day.
pub fn operations_that_stay(published: &Value, today: NaiveDate) -> Vec<&str> {
    let operations = all_operations(published).into_iter();
    let stay = operations.filter(|(_, operation)| promises::must_stay(operation, today));
    stay.map(|(name, _)| name).collect()
}

fn without_version(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(Value::Object(info)) = document.get_mut("info") {
        info.shift_remove("version");
    }
    document
}
