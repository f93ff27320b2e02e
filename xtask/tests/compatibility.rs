//! Tests the verdicts on changes of a document. The module `pairs` compares pairs of small
//! documents. The module `every_key` changes each place of the real document.

mod every_key;
mod pairs;

/// The day as of which the tests compare two documents, unless a test case sets another day. An
/// operation may be removed after its sunset, so verdicts depend on the day.
const TODAY: &str = "2027-06-01";
