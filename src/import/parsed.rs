//! The result of parsing a file: valid and invalid rows, or the reason why it cannot be parsed.

use super::{BadRows, FieldProblem, Location, Record, Unknown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedRow<R> {
    pub location: Location,
    pub record: R,
}

#[derive(Debug)]
pub struct Parsed<R> {
    /// The valid records in ascending order of id, each id once.
    pub rows: Vec<ParsedRow<R>>,
    pub bad: BadRows,
    pub unknown: Unknown,
}

/// The reason why a file cannot be parsed at all.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    #[error("there is nothing in it; write a JSON array, JSON lines, or CSV with a header row")]
    Empty,
    #[error(
        "it is compressed with gzip; decompress it to standard input, as in `zcat FILE | \
         store-orders orders import -`"
    )]
    Gzip,
    #[error("line {line} is not UTF-8 text; save the file as UTF-8")]
    NotUtf8 {
        /// The line of the first invalid byte.
        line: usize,
    },
    /// The file begins with `[`, but is not a JSON array and cannot be split into elements either.
    #[error("not a valid JSON array")]
    BrokenArray(#[source] serde_json::Error),
    #[error("line 1 has to name the columns, separated by commas: {0}")]
    Header(String),
    /// The `csv` crate reports an error. No UTF-8 text is known to cause one.
    #[error("not valid CSV")]
    BrokenCsv(#[source] ::csv::Error),
}

impl ParseError {
    pub fn line(&self) -> Option<u64> {
        match self {
            ParseError::Empty | ParseError::Gzip => None,
            ParseError::NotUtf8 { line } => Some(*line as u64),
            ParseError::BrokenArray(error) => Some(error.line() as u64),
            ParseError::Header(_) => Some(1),
            ParseError::BrokenCsv(error) => error.position().map(::csv::Position::line),
        }
    }
}

impl<R> Parsed<R> {
    pub(super) fn new(unknown: Unknown) -> Parsed<R> {
        Parsed { rows: Vec::new(), bad: BadRows::default(), unknown }
    }
}

impl<R: Record> Parsed<R> {
    pub(super) fn add(&mut self, location: Location, record: Result<R, Vec<FieldProblem>>) {
        match record {
            Ok(record) => self.rows.push(ParsedRow { location, record }),
            Err(problem) => self.bad.add(location, problem),
        }
    }

    /// Sorts by id, and rejects rows that repeat the id of an earlier row in the file. The sort
    /// must be stable, so that rows with the same id keep the file's order.
    pub(super) fn sort(&mut self) {
        self.rows.sort_by_key(|row| row.record.id());
        self.rows.dedup_by(|later, first| {
            let (id, place) = (first.record.id(), first.location);
            let repeated = later.record.id() == id;
            if repeated {
                let problem =
                    format!("{} {id} is in the file twice, first on {place}", R::KIND.noun());
                self.bad.add(later.location, vec![FieldProblem::for_field("id", problem)]);
            }
            repeated
        });
    }
}
