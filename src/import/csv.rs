//! Parses CSV files with a header row. The columns may be in any order.

use super::location::LocationCounter;
use super::record::field_names;
use super::{
    FieldProblem, FieldValue, Location, ParseError, Parsed, Record, RecordFields, Unknown,
};
use csv::{ReaderBuilder, StringRecord};

pub fn read<R: Record>(text: &str, parsed: &mut Parsed<R>) -> Result<(), ParseError> {
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let columns =
        columns::<R>(reader.headers().map_err(ParseError::BrokenCsv)?, &mut parsed.unknown)
            .map_err(ParseError::Header)?;
    let mut locations = LocationCounter::new(text.as_bytes());
    let mut cells = StringRecord::new();
    while reader.read_record(&mut cells).map_err(ParseError::BrokenCsv)? {
        let line = locations.location_at(row_start(text, &cells)).line;
        parsed.add(Location { line, column: 0 }, record(&columns, &cells));
    }
    Ok(())
}

/// Returns the offset of a row. Skips line ends, because the CSV reader may report a position
/// before blank lines or before the LF of a CR LF.
fn row_start(text: &str, cells: &StringRecord) -> usize {
    let start = cells.position().map_or(0, |position| position.byte());
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn columns<R: Record>(
    header: &StringRecord,
    unknown: &mut Unknown,
) -> Result<Vec<Option<&'static str>>, String> {
    if let Some(separator) = other_separator::<R>(header) {
        return Err(format!(
            "here they are separated by {separator}; save the file with commas, and quote the \
             cells that have a comma"
        ));
    }
    let is_name = |cell: &str| cell.chars().any(char::is_alphabetic);
    if header.iter().next().is_some_and(|cell| !is_name(cell)) {
        return Err(format!("there is no header row, such as {}", R::FIELDS.join(",")));
    }
    let (columns, problems) = field_names::<R>(header.iter(), unknown);
    let mut problems: Vec<String> = problems.into_iter().map(|found| found.problem).collect();
    let missing = R::REQUIRED.iter().filter(|name| !columns.contains(&Some(**name)));
    problems.extend(missing.map(|name| format!("{name} is missing")));
    if problems.is_empty() { Ok(columns) } else { Err(problems.join("; ")) }
}

/// Returns the name of the separator if it is not a comma. Spreadsheets in many countries write
/// semicolons.
fn other_separator<R: Record>(header: &StringRecord) -> Option<&'static str> {
    let cell = header.get(0).filter(|_| header.len() == 1)?;
    let separators = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
    let names = |separator| {
        cell.split(separator).any(|name: &str| {
            R::FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name.trim().trim_matches('"')))
        })
    };
    separators
        .into_iter()
        .find(|(sign, _)| cell.contains(*sign) && names(*sign))
        .map(|(_, name)| name)
}

fn record<R: Record>(
    columns: &[Option<&'static str>],
    cells: &StringRecord,
) -> Result<R, Vec<FieldProblem>> {
    if cells.len() != columns.len() {
        let (found, expected) = (cells.len(), columns.len());
        let problem = format!("has {found} cells where the header row has {expected}");
        return Err(vec![problem.into()]);
    }
    RecordFields::new(columns, cells.iter().map(FieldValue::Cell), Vec::new()).read()
}
