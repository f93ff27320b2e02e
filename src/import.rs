//! Parses records from a JSON array, JSON lines or CSV, and order ids from lines of text. Collects
//! all invalid rows. Opens neither a file nor the store.

mod bad_rows;
mod csv;
mod json;
mod location;
mod parsed;
mod record;
mod records;

pub use bad_rows::{BadRow, BadRows, Problem};
pub use location::Location;
pub use parsed::{ParseError, Parsed, ParsedRow};
pub use record::{FieldProblem, FieldValue, NewRecord, Record, RecordFields, Unknown};
pub use records::order_ids;

use location::LocationCounter;

/// The first bytes of each gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Parses all records of a JSON or CSV file. The first non-blank character determines the format.
pub fn parse<R: Record>(content: &[u8], unknown: Unknown) -> Result<Parsed<R>, ParseError> {
    if content.starts_with(&GZIP) {
        return Err(ParseError::Gzip);
    }
    let text = std::str::from_utf8(content).map_err(|error| ParseError::NotUtf8 {
        line: LocationCounter::new(content).location_at(error.valid_up_to()).line,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parsed = Parsed::new(unknown);
    match text.trim_start().chars().next() {
        None => return Err(ParseError::Empty),
        Some('[') => json::read_array(text, &mut parsed)?,
        Some('{') => json::read_lines(text, &mut parsed),
        Some(_) => csv::read(text, &mut parsed)?,
    }
    parsed.sort();
    Ok(parsed)
}

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod tests;
