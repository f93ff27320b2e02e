//! Finds the changes from the published document to the current one, and classifies each as
//! breaking, addition or neutral.
//!
//! A program that was written for a published document must work until the operations that it calls
//! may be removed, unless they were published as beta or experimental. Whoever edits a document
//! does not know these programs. So rules must decide whether an edit could break a program, and
//! whether the edit needs a new version.
//!
//! The obvious rule is a list of breaking changes: a field was removed, a new parameter is
//! required. Then someone adds `nullable: true` to a field of a response. The list lacks this
//! change, so it passes, and programs fail at the first `null`. Or someone adds a value to an
//! `enum`. For a parameter, the list must allow this. But in a response, the new value breaks
//! programs that know only the old values.
//!
//! So the default is the opposite: a difference is breaking unless a rule covers it
//! (`Findings::other`). Without a rule, only text for people may change, and an `x-` field may be
//! added. The rules for values depend on whether callers send or receive them (`Direction`).
//! References are resolved first. So a change of a shared component counts wherever the component
//! is used. Apart from names, it makes no difference whether an operation refers to a definition or
//! contains it.
//!
//! What is always true:
//!
//! - The current document is compared with the newest published document of its major version. If
//!   the main branch has this published document, it is read from git, as the main branch first had
//!   it (`history`). So nobody can hide a change by editing a file in `spec/published`, and the
//!   check reports the edit. In a shallow clone, the check says that it lacks the history, and uses
//!   the files of the checkout.
//! - A neutral change needs a new patch version, and an addition a new minor version. If the newest
//!   published version is a beta, such as 2.0.0-beta.6, both need the next beta
//!   ([`Verdict::next_version`]). `check --fix` sets these versions. `CHANGELOG.md` must name each
//!   addition and each breaking change.
//! - A breaking change needs a new major version, which is a new document under a new base path.
//!   The old document stays without this change. It is served until all operations of its last
//!   published version may be removed ([`operations_that_stay`]).
//! - No difference escapes. `xtask/tests/compatibility/every_key.rs` removes and replaces each
//!   value of version 1's document, except its version. Each of these changes must be found, and
//!   only those of text for people may be neutral.
//!
//! Verdicts are about documents, so they cannot show that the server still does what an old
//! document says. For that, `tests/published_documents.rs` checks today's responses against every
//! document in `spec/published`. Additions are allowed. The requests and responses of the test must
//! contain each part that a document promises, such as a field or a header. Operations that were
//! beta or experimental, or are past their `x-sunset`, are exempt.
//!
//! Verdicts depend on the day, because an operation may be removed after its `x-sunset`, and a new
//! sunset must be at least 90 days ahead. So `publish` runs the check again on the day of the
//! publication.
//!
//! The crate drift was tried with 12 breaking changes. It called 4 of them incompatible, 4
//! unhandled and 1 compatible, and did not see the other 3, such as a nullable field
//! (`api/UPSTREAM.md`). There are no rules for `allOf` and other constructs that no document here
//! uses, because the default covers them.
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
//!   additions, as `spec/guide.md` tells callers. Other new bodies and media types are breaking,
//!   and so are new successes and redirects. A new 304 is an addition if `If-None-Match` is new
//!   too, because no caller sends this header yet.
//! - **Codes.** The examples of an error response are named after the operation's error codes. So a
//!   new example is a new code and thus an addition, and removing an example is breaking.
//! - **Names in generated clients** are promised, as the wire format is: `operationId`, tags,
//!   titles of schemas, parameters (also path parameters), component schemas and security schemes.
//!   Two changes of a `$ref` are allowed, although they change the name of a generated type. Naming
//!   a different schema of the same form is an addition. Replacing the `$ref` with a copy of the
//!   schema is neutral, but removing the schema from `components` is breaking. The keys of
//!   responses, headers and parameters in `components` may change, because only their contents are
//!   promised.
//! - **Promises for programs.** Limits in `x-plans` may rise, plans and values of
//!   `x-extensible-enum` may be added, and the day of `x-sunset` may move to a later day. An
//!   additional limit of a plan is breaking.
//! - **End of life.** A deprecated operation may be removed after the day of its `x-sunset`, with
//!   the schemas that only it uses. The day is at least 90 days after the publication that first
//!   names it. A version may be removed when all its operations may be. Only operations have a
//!   sunset: removing a deprecated field or parameter requires a major version.
//! - **Stability.** An operation that was published as `beta` or `experimental` promised nothing,
//!   so its breaking changes count as additions. The same is true for a removed schema that only
//!   such operations used, and for changed base URLs if all operations were beta or experimental.
//!   Without `x-stability`, an operation is stable.
//! - **Anything else** is breaking, unless it is text for people or a new `x-` field. This includes
//!   patterns, and constructs that the documents do not use, such as `allOf`, `nullable`,
//!   callbacks, and servers of one operation. To allow a change of them, add a rule.

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

/// Returns every change between two documents, with its verdict as of `today`. Ignores
/// `info.version`, because the changes determine the version. If the documents differ only in form,
/// returns one neutral change.
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

/// True if the document has operations and all of them are beta or experimental. Such a document
/// promises nothing.
pub fn is_beta(document: &Value) -> bool {
    promises::all_unstable(document)
}

/// Returns the names that the changelog uses for the operations of a document.
pub fn operation_names(document: &Value) -> Vec<String> {
    all_operations(document).iter().map(|(name, _)| name.to_string()).collect()
}

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
