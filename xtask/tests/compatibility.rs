//! Tests the verdicts on changes of a document. The module `pairs` compares pairs of small
//! documents. The module `every_key` changes each place of the real document.

mod every_key;
mod pairs;

/// The day of the verdicts, unless a pair sets a different day. Verdicts depend on the day, because
/// an operation may be removed after its sunset.
const TODAY: &str = "2027-06-01";
