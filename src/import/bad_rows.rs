//! The rows that cannot be imported: the first of them in full, all of them in
//! number, so that a file of a million bad rows fills neither memory nor screen.

use super::{Place, Reason};
use std::fmt;

/// How many are shown.
const SHOWN: usize = 20;

/// A row that cannot be imported.
#[derive(Debug)]
pub struct BadRow {
    /// Where it begins.
    pub place: Place,
    /// What is wrong with it.
    pub reason: Reason,
}

/// All the rows that cannot be imported.
#[derive(Debug, Default)]
pub struct BadRows {
    /// In order of place.
    first: Vec<BadRow>,
    count: usize,
}

impl BadRows {
    /// Adds one; they may come in any order.
    pub fn add(&mut self, place: Place, reason: Reason) {
        self.count += 1;
        let position = self.first.partition_point(|row| row.place <= place);
        if position < SHOWN {
            self.first.insert(position, BadRow { place, reason });
            self.first.truncate(SHOWN);
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

/// A line for each that is shown, then how many there are.
impl fmt::Display for BadRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.first {
            writeln!(f, "  {}: {}", row.place, row.reason)?;
        }
        match self.count {
            1 => write!(f, "1 bad row"),
            count if count <= SHOWN => write!(f, "{count} bad rows"),
            count => write!(f, "{count} bad rows, of which the first {SHOWN} are shown"),
        }
    }
}
