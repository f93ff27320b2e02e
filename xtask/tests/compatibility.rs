//! Tests the verdicts on changes of a document: on pairs of small documents, and on a change at
//! each place of the real document.

mod every_key;
mod pairs;

/// The day on which verdicts are given, because they depend on it. A pair may set a different day.
const TODAY: &str = "2027-06-01";
