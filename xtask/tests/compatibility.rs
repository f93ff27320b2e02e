//! Tests the verdicts on changes of a document: on pairs of small documents, and on a change at
//! each place of the real document.

mod every_key;
mod pairs;

/// The day of the changes, unless a pair sets another.
const TODAY: &str = "2027-06-01";
