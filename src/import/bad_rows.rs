//! The rows that cannot be imported. All are counted, and only the first are
//! kept: a million bad rows fill neither memory nor screen.

use super::{FieldProblem, Position};
use std::fmt;

/// How many rows are shown.
const SHOWN: usize = 20;

/// Why a row cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The row is invalid.
    #[error("{}", joined(_0))]
    Invalid(Vec<FieldProblem>),
    /// The order cannot be changed so.
    #[error("{0}")]
    Refused(String),
    /// Its id is taken, perhaps by a cancelled order.
    #[error("{noun} {id} is already in the store")]
    InStore {
        /// What the record is called.
        noun: &'static str,
        /// Its id.
        id: i64,
    },
}

/// A row that cannot be imported.
#[derive(Debug)]
pub struct BadRow {
    /// Where it begins.
    pub position: Position,
    /// What is wrong with it.
    pub problem: Problem,
}

/// All the rows that cannot be imported.
#[derive(Debug, Default)]
pub struct BadRows {
    /// The first in the file, in order.
    first: Vec<BadRow>,
    count: usize,
}

impl BadRows {
    /// Adds a row; rows may come in any order.
    pub fn add(&mut self, position: Position, problem: impl Into<Problem>) {
        self.count += 1;
        let index = self.first.partition_point(|row| row.position <= position);
        if index < SHOWN {
            self.first.truncate(SHOWN - 1);
            self.first.insert(index, BadRow { position, problem: problem.into() });
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of them in the file.
    pub fn first(&self) -> &[BadRow] {
        &self.first
    }
}

impl From<Vec<FieldProblem>> for Problem {
    fn from(problems: Vec<FieldProblem>) -> Problem {
        Problem::Invalid(problems)
    }
}

fn joined(problems: &[FieldProblem]) -> String {
    problems.iter().map(|problem| &*problem.problem).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.position, self.problem)
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
            count if count <= SHOWN => write!(f, "{count} bad rows"),
            count => write!(f, "{count} bad rows, of which the first {SHOWN} are shown"),
        }
    }
}
