//! Why a record cannot be imported, said so that it can be mended.

use super::Place;

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A line or an element of an array that is no JSON object.
    #[error("must be a JSON object, not {found}")]
    NotAnObject {
        /// The beginning of what is there.
        found: String,
    },
    /// A line that is no JSON.
    #[error("is not valid JSON: {what} at column {column}")]
    NotJson {
        /// What the parser says.
        what: String,
        /// Where on the line.
        column: usize,
    },
    /// A row with more or fewer cells than there are columns.
    #[error("has {found} cells where the header row has {expected}")]
    CellCount {
        /// Cells in the row.
        found: usize,
        /// Columns.
        expected: usize,
    },
    /// A field or column that the record does not have.
    #[error("{name} is unknown; the names are {}", known.join(", "))]
    Unknown {
        /// As the file writes it, quoted.
        name: String,
        /// Those that the record has.
        known: &'static [&'static str],
    },
    /// A field or column that is there more than once.
    #[error("{name} is given twice")]
    Twice {
        /// Its name.
        name: &'static str,
    },
    /// A field or column that every record has.
    #[error("{name} is missing")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A value of the wrong type, or out of range.
    #[error("{name} must be {must_be}, not {found}")]
    Wrong {
        /// The field.
        name: &'static str,
        /// What it has to be.
        must_be: &'static str,
        /// What it is.
        found: String,
    },
    /// An id that an earlier record of the file has.
    #[error("{noun} {id} is in the file twice, first on {first}")]
    IdTwice {
        /// What it is.
        noun: &'static str,
        /// Its id.
        id: i64,
        /// Where it is first.
        first: Place,
    },
    /// An id that a record of the store has, a cancelled order too.
    #[error("{noun} {id} is already in the store")]
    InStore {
        /// What it is.
        noun: &'static str,
        /// Its id.
        id: i64,
    },
}
