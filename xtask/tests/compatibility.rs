//! Tests the verdicts on changes of a document. The module `pairs` compares pairs of small
//! documents. The module `every_key` changes each place of the real document.

mod every_key;
mod pairs;

/// The day for which the tests ask for verdicts. A verdict depends on the day, because an operation
/// may be removed after its sunset. A pair may set a different day.
const TODAY: &str = "2027-06-01";
