//! CSV with a header row; its columns may be in any order.

use super::position::PositionCounter;
use super::record::field_names;
use super::{FieldValue, Fields, ParseError, Parsed, Position, Record};
use csv::{ReaderBuilder, StringRecord};

/// Reads every row after the header row.
pub fn read<R: Record>(text: &str, parsed: &mut Parsed<R>) -> Result<(), ParseError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let columns = columns::<R>(reader.headers().map_err(ParseError::BrokenCsv)?)
        .map_err(ParseError::Header)?;
    let mut positions = PositionCounter::new(text.as_bytes());
    let mut cells = StringRecord::new();
    while reader.read_record(&mut cells).map_err(ParseError::BrokenCsv)? {
        let line = positions.position_at(start_of(text, &cells)).line;
        parsed.add(Position { line, column: 0 }, record(&columns, &cells));
    }
    Ok(())
}

/// The reader's own position counts blank lines, and the LF of a CR LF, as part
/// of the row that follows.
fn start_of(text: &str, cells: &StringRecord) -> usize {
    let start = cells.position().map_or(0, |position| position.byte());
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn columns<R: Record>(header: &StringRecord) -> Result<Vec<&'static str>, String> {
    let columns = field_names::<R>(header.iter())?;
    match R::REQUIRED.iter().find(|name| !columns.contains(name)) {
        Some(name) => Err(format!("{name} is missing")),
        None => Ok(columns),
    }
}

fn record<R: Record>(columns: &[&'static str], cells: &StringRecord) -> Result<R, String> {
    if cells.len() != columns.len() {
        let (found, expected) = (cells.len(), columns.len());
        return Err(format!("has {found} cells where the header row has {expected}"));
    }
    R::read(&Fields::new(columns, cells.iter().map(FieldValue::Cell)))
}
