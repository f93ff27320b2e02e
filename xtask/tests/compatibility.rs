//! What changes of a document mean for callers: pairs of documents with their verdicts, and every
//! place of the real document.

mod every_key;
mod pairs;

/// The day on which the changes are made, unless a pair says otherwise.
const TODAY: &str = "2027-06-01";
