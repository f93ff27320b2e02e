//! Finds the changes from the published document to the current one, and classifies each as
//! breaking, addition or neutral.
//!
//! A program that was written for a published document must work for as long as its version is
//! served. Whoever edits a document does not know these programs. So a rule must decide whether an
//! edit could break one of them, and whether it needs a new version.
//!
//! The obvious rule is a list of breaking changes: a field was removed, a new parameter is
//! required. Then someone adds `nullable: true` to a field of a response. The list lacks this
//! change, so it passes, and programs fail at the first `null`. Or someone adds a value to an
//! `enum`. The list must not refuse that for a parameter, but in a response it breaks programs that
//! know only the old values.
//!
//! So the default is the opposite: a difference is breaking unless a rule knows it
//! (`Findings::other`; only a new `x-` field passes). The rules for values depend on whether
//! callers send or receive them (`Direction`). References are resolved first, so a change of a
//! shared component counts wherever it is used, and moving a definition is not a change.
//!
//! What is always true:
//!
//! - The current document is compared with the newest published one of its major version. That one
//!   is read from git, in the first version that the main branch had of the file (`history`). So an
//!   edit of a file in `spec/published` hides no change, and is itself a problem. In a shallow
//!   clone, the check says that it lacks the history.
//! - A neutral change needs a new patch version, and an addition a new minor version
//!   ([`Verdict::next_version`]), which `check --fix` sets. `CHANGELOG.md` must name each addition
//!   and each breaking change.
//! - A breaking change needs a new major version. That is a new document under a new base path,
//!   while the old document stays as it was. It is served until no operation of its last published
//!   version must be served any more ([`operations_that_stay`]).
//! - No difference escapes. `xtask/tests/compatibility/every_key.rs` removes and replaces each
//!   value of the real document. Each change must be found, and only text for people may be
//!   neutral.
//!
//! Verdicts are about documents, so they cannot show that the server still does what an old
//! document says. For that, `tests/published_documents.rs` checks today's responses against every
//! document in `spec/published`. Additions are allowed, but each promise of each document must be
//! in some response, unless its operation was in beta or is past its `x-sunset`. The test's seeded
//! defects change the current document and the responses alike, so that only this replay can find
//! them.
//!
//! Verdicts depend on the day, because an operation may be removed after its `x-sunset`, and a new
//! sunset must be 90 days ahead. So `publish` runs the check again on the day of the publication.
//!
//! The crate drift was tried with 12 breaking changes. It called 4 of them incompatible, 4
//! unhandled and 1 compatible, and did not see the other 3, such as a nullable field
//! (`api/UPSTREAM.md`). Rules of our own for `allOf` and other constructs that no document here
//! uses were removed, because the default covers them.
//!
//! # The rules
//!
//! A change is breaking if a caller that relied on the published document could fail.
//! `xtask/tests/compatibility/pairs` has examples of each rule.
//!
//! - **Values.** The set of values that callers send may only grow, because every value that they
//!   send must stay allowed. The set of values that callers receive may only shrink, because they
//!   are prepared only for the published values. If the effect on a set cannot be decided, the
//!   change is breaking.
//! - **New things in responses.** New fields, headers and errors with the body `Error` are
//!   additions, as `spec/guide.md` tells callers. Other new bodies, new successes and new media
//!   types are breaking. A new 304 is an addition if `If-None-Match` is new too, because no
//!   caller sends this header yet.
//! - **Codes.** The examples of an error response are named after the operation's error codes: a
//!   new code is an addition, a removed code is breaking.
//! - **Names in generated clients** are promised like the wire format: `operationId`, tags, titles,
//!   parameters (also path parameters), component schemas and security schemes. If a `$ref` names
//!   a different schema of the same form, the wire format stays the same, but a type in generated
//!   clients gets a new name. This is an addition. Moving or inlining a schema, or renaming other
//!   components, is neutral if the wire format stays the same.
//! - **Promises for programs.** Limits in `x-plans` may rise, plans and values of
//!   `x-extensible-enum` may be added, and the day of `x-sunset` may move to a later day. An
//!   additional limit of a plan is breaking.
//! - **End of life.** A deprecated operation may be removed after the day of its `x-sunset`, with
//!   the schemas that only it uses. The day is at least 90 days after the publication that first
//!   names it. A version may be removed with all its operations. Only operations have a sunset:
//!   removing a deprecated field or parameter requires a major version.
//! - **Stability.** An operation that was published as `beta` or `experimental` promised nothing,
//!   nor did its schemas and servers: its breaking changes count as additions. Without
//!   `x-stability`, an operation is stable.
//! - **Anything else** is breaking, unless it is text for people. This includes constructs that the
//!   documents do not use, such as `allOf`, `nullable`, patterns, callbacks, and servers of one
//!   operation. The first change of such a construct needs a new rule.

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
use findings::{ComparedPlace, Findings};
use resolved::resolve_operations;
use serde_json::Value;

/// Returns every change between two documents, in the order of the document, with its verdict as of
/// `today`. Ignores `info.version`, because the changes determine the version.
pub fn changes(published: &Value, document: &Value, today: NaiveDate) -> Vec<Change> {
    let (old, new) = (resolve_operations(published), resolve_operations(document));
    let mut findings = Findings { today, changes: Vec::new() };
    document::compare(&mut findings, &ComparedPlace::documents(&old, &new));
    let changes = findings.changes;
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

/// True if all operations of the document are in beta or experimental, so that it promises nothing.
pub fn is_beta(document: &Value) -> bool {
    promises::all_unstable(document)
}

/// Returns the names of a document's operations, as in the changelog.
pub fn operation_names(document: &Value) -> Vec<String> {
    all_operations(document).iter().map(|(name, _)| name.to_string()).collect()
}

/// Returns the operations of a published document that must still be served on the day `today`.
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
