//! Collects the rows that cannot be imported. Counts every row, but keeps only the first ones, so
//! that a million bad rows fill neither memory nor screen.

use super::{FieldProblem, Location};
use std::fmt;

/// The maximum number of rows that are shown.
const MAX_SHOWN_ROWS: usize = 20;

/// The reason why a row cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The row is invalid.
    #[error("{}", join_problems(_0))]
    Invalid(Vec<FieldProblem>),
    /// The order does not exist, or its status forbids the change.
    #[error("{0}")]
    Refused(String),
    /// The id is in use, perhaps by a cancelled order.
    #[error("{noun} {id} is already in the store")]
    InStore {
        /// The kind of the record, such as `order`.
        noun: &'static str,
        /// The id of the record.
        id: i64,
    },
}

/// A row that cannot be imported.
#[derive(Debug)]
pub struct BadRow {
    /// The start of the row.
    pub location: Location,
    /// The reason why it cannot be imported.
    pub problem: Problem,
}

/// The rows that cannot be imported.
#[derive(Debug, Default)]
pub struct BadRows {
    /// The first bad rows of the file, in order.
    first: Vec<BadRow>,
    count: usize,
}

impl BadRows {
    /// Adds a row; rows may come in any order.
    pub fn add(&mut self, location: Location, problem: impl Into<Problem>) {
        self.count += 1;
        let index = self.first.partition_point(|row| row.location <= location);
        if index < MAX_SHOWN_ROWS {
            self.first.truncate(MAX_SHOWN_ROWS - 1);
            self.first.insert(index, BadRow { location, problem: problem.into() });
        }
    }

    /// Returns the number of bad rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the first bad rows of the file.
    pub fn first(&self) -> &[BadRow] {
        &self.first
    }
}

impl From<Vec<FieldProblem>> for Problem {
    fn from(problems: Vec<FieldProblem>) -> Problem {
        Problem::Invalid(problems)
    }
}

fn join_problems(problems: &[FieldProblem]) -> String {
    problems.iter().map(|problem| &*problem.problem).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.problem)
    }
}

/// A line for each row that is shown, then the count.
impl fmt::Display for BadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.first {
            writeln!(f, "  {row}")?;
        }
        match self.count {
            1 => write!(f, "1 bad row"),
            count if count <= MAX_SHOWN_ROWS => write!(f, "{count} bad rows"),
            count => write!(f, "{count} bad rows, of which the first {MAX_SHOWN_ROWS} are shown"),
        }
    }
}
