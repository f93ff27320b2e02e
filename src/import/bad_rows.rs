//! Collects the rejected rows of a file. By default, shows only the first rows, because a million
//! bad rows would fill the screen.

use super::{FieldProblem, Location};
use crate::store::StoreError;
use std::collections::BTreeMap;
use std::fmt;

/// The maximum number of rows that are shown unless the operator asks for all.
const MAX_SHOWN_ROWS: usize = 20;

/// The reason why a row of a file is rejected. A row is a record to import, an update, or an
/// order's id.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{}", join_problems(_0))]
    Invalid(Vec<FieldProblem>),
    /// The order does not exist, or its status forbids the change.
    #[error("{0}")]
    Refused(StoreError),
    /// The id is in use, perhaps by a cancelled order.
    #[error("{noun} {id} is already in the store")]
    InStore { noun: &'static str, id: i64 },
}

#[derive(Debug)]
pub struct BadRow {
    pub location: Location,
    pub problem: Problem,
}

#[derive(Debug, Default)]
pub struct BadRows {
    /// The rows in the order of the file. Rows with the same location stay in the order of their
    /// addition.
    rows: BTreeMap<(Location, usize), BadRow>,
}

impl BadRows {
    /// Rows may be added in any order, because the field `rows` is sorted by location.
    pub fn add(&mut self, location: Location, problem: impl Into<Problem>) {
        let row = BadRow { location, problem: problem.into() };
        self.rows.insert((location, self.rows.len()), row);
    }

    pub fn count(&self) -> usize {
        self.rows.len()
    }

    pub fn rows(&self) -> impl Iterator<Item = &BadRow> {
        self.rows.values()
    }

    pub fn are_missing_orders(&self) -> bool {
        let is_missing =
            |row: &BadRow| matches!(row.problem, Problem::Refused(StoreError::NotFound(_)));
        self.rows().all(is_missing)
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

impl fmt::Display for BadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if f.alternate() { usize::MAX } else { MAX_SHOWN_ROWS };
        for row in self.rows().take(shown) {
            writeln!(f, "  {row}")?;
        }
        match self.count() {
            1 => write!(f, "1 bad row"),
            count if count <= shown => write!(f, "{count} bad rows"),
            count => write!(
                f,
                "{count} bad rows, of which the first {shown} are shown; --all-errors shows all"
            ),
        }
    }
}
