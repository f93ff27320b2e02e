//! CSV with a header row, whose columns may stand in any order.

use super::place::Lines;
use super::{Fields, FileError, Read, Reason, Record, Value};
use csv::{ReaderBuilder, StringRecord};

/// Reads every row after the header row.
pub fn read<R: Record>(text: &str, read: &mut Read<R>) -> Result<(), FileError> {
    let mut reader =
        ReaderBuilder::new().has_headers(true).flexible(true).from_reader(text.as_bytes());
    let columns =
        columns::<R>(reader.headers().map_err(FileError::BrokenCsv)?).map_err(FileError::Header)?;
    let mut lines = Lines::new(text.as_bytes());
    let mut cells = StringRecord::new();
    while reader.read_record(&mut cells).map_err(FileError::BrokenCsv)? {
        let start = start_of(text, &cells);
        read.add(lines.line_at(start), record(&columns, &cells));
    }
    Ok(())
}

/// The reader's own count of lines takes blank lines, and the second half of a
/// CR LF, for part of the row that follows.
fn start_of(text: &str, cells: &StringRecord) -> usize {
    let start = cells.position().map_or(0, |position| position.byte());
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    start + rest.iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count()
}

/// The field of each column.
fn columns<R: Record>(header: &StringRecord) -> Result<Vec<usize>, Reason> {
    let mut fields = Fields::new(R::FIELDS);
    let mut columns = Vec::with_capacity(header.len());
    for name in header {
        let position = fields.position(name)?;
        fields.set(position, Value::Null)?;
        columns.push(position);
    }
    for name in R::REQUIRED {
        if !header.iter().any(|column| column == *name) {
            return Err(Reason::Missing { name });
        }
    }
    Ok(columns)
}

fn record<R: Record>(columns: &[usize], cells: &StringRecord) -> Result<R, Reason> {
    if cells.len() != columns.len() {
        return Err(Reason::CellCount { found: cells.len(), expected: columns.len() });
    }
    let mut fields = Fields::new(R::FIELDS);
    for (position, cell) in columns.iter().zip(cells) {
        fields.set(*position, Value::Cell(cell))?;
    }
    R::read(&fields)
}
