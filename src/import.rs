//! Records from a file: told apart by format, read, and checked one by one, so
//! that all that is wrong with a file is known before the store is asked.
//! Nothing here opens a file or a store.

mod bad_rows;
mod csv;
mod fields;
mod json;
mod order;
mod pet;
mod place;
mod reason;

pub use bad_rows::{BadRow, BadRows};
pub use fields::{Fields, Kind, Value};
pub use place::Place;
pub use reason::Reason;

/// Something that an operator imports.
pub trait Record: Sized {
    /// What messages call it.
    const NOUN: &'static str;
    /// The names of its fields, as the file writes them.
    const FIELDS: &'static [&'static str];
    /// Those of them that every record has.
    const REQUIRED: &'static [&'static str];

    /// The record of these fields, if they are sound.
    fn read(fields: &Fields<'_>) -> Result<Self, Reason>;

    /// What tells it from all others.
    fn id(&self) -> i64;
}

/// A record and where in the file it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row<R> {
    /// Where it began.
    pub place: Place,
    /// The record.
    pub record: R,
}

/// What a file held.
#[derive(Debug)]
pub struct Parsed<R> {
    /// The sound records in ascending order of id, no id twice.
    pub rows: Vec<Row<R>>,
    /// All others.
    pub bad: BadRows,
}

/// Why a file as a whole cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing in it.
    #[error(
        "there is nothing in it; an import takes a JSON array, JSON lines, or CSV with a header row"
    )]
    Empty,
    /// Some other encoding.
    #[error("line {line} is not UTF-8 text; save the file as UTF-8")]
    NotUtf8 {
        /// The line of the first octet that is none.
        line: usize,
    },
    /// It begins as a JSON array and does not go on as one.
    #[error("not a valid JSON array")]
    BrokenArray(#[source] serde_json::Error),
    /// The header row of a CSV file names other columns than the record has.
    #[error("line 1 has to name the columns, separated by commas")]
    Header(#[source] Reason),
    /// A CSV file that cannot be split into rows.
    #[error("not valid CSV")]
    BrokenCsv(#[source] ::csv::Error),
}

/// Reads all records of a file: a JSON array, JSON lines, or CSV with a header
/// row, whichever it begins as.
pub fn parse<R: Record>(content: &[u8]) -> Result<Parsed<R>, FileError> {
    let text = std::str::from_utf8(content).map_err(|error| FileError::NotUtf8 {
        line: place::Lines::new(content).place_at(error.valid_up_to()).line,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut read = Read::new();
    match text.trim_start().as_bytes().first() {
        None => return Err(FileError::Empty),
        Some(b'[') => json::read_array(text, &mut read)?,
        Some(b'{') => json::read_lines(text, &mut read),
        Some(_) => csv::read(text, &mut read)?,
    }
    Ok(read.finish())
}

/// The rows as the formats hand them over.
struct Read<R> {
    rows: Vec<Row<R>>,
    bad: BadRows,
}

impl<R: Record> Read<R> {
    fn new() -> Read<R> {
        Read { rows: Vec::new(), bad: BadRows::default() }
    }

    fn add(&mut self, place: Place, record: Result<R, Reason>) {
        match record {
            Ok(record) => self.rows.push(Row { place, record }),
            Err(reason) => self.bad.add(place, reason),
        }
    }

    /// The sort is stable: of two records with one id, the first in the file
    /// stays and the second is the bad one.
    fn finish(mut self) -> Parsed<R> {
        self.rows.sort_by_key(|row| row.record.id());
        let bad = &mut self.bad;
        self.rows.dedup_by(|later, first| {
            let id = later.record.id();
            let twice = id == first.record.id();
            if twice {
                bad.add(later.place, Reason::IdTwice { noun: R::NOUN, id, first: first.place });
            }
            twice
        });
        Parsed { rows: self.rows, bad: self.bad }
    }
}

#[cfg(test)]
mod tests;
