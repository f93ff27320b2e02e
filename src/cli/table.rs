//! A table as text, with one line per record. The column names are repeated after every 10,000
//! records.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::mem;

/// The number of rows that are laid out together. Comfy-table uses 2 KB per row of eight columns,
/// so a block of this many rows takes 20 MB. A block of a million rows would take 2 GB and six
/// seconds.
const BLOCK_ROWS: usize = 10_000;

/// The number of spaces between columns.
const GAP: u16 = 2;

/// The type of a column's cells, which decides how they are shortened and aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    /// A time as RFC 3339 in UTC, shortened to the day.
    Day,
    /// A time as RFC 3339 in UTC, shortened to the minute.
    Minute,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The column's name, which is also the name of the record's field.
    pub name: &'static str,
    kind: Kind,
}

impl Column {
    pub const fn text(name: &'static str) -> Column {
        Column { name, kind: Kind::Text }
    }

    pub const fn number(name: &'static str) -> Column {
        Column { name, kind: Kind::Number }
    }

    pub const fn day(name: &'static str) -> Column {
        Column { name, kind: Kind::Day }
    }

    pub const fn minute(name: &'static str) -> Column {
        Column { name, kind: Kind::Minute }
    }

    fn shorten(&self, cell: String) -> String {
        let is_time = cell.len() >= 20 && cell.as_bytes().get(10) == Some(&b'T');
        match (self.kind, cell.get(..10), cell.get(11..16)) {
            (Kind::Day, Some(day), _) if is_time => day.to_string(),
            (Kind::Minute, Some(day), Some(minute)) if is_time => format!("{day} {minute}Z"),
            _ => cell,
        }
    }
}

fn cell(record: &Value, name: &str) -> String {
    // Replace control characters, because a terminal would obey them. Another program may have
    // written such characters to the store.
    let printable = |text: &str| text.replace(char::is_control, "\u{fffd}");
    match record.get(name) {
        None => String::new(),
        Some(Value::String(text)) => printable(text),
        Some(Value::Null) => NONE.to_string(),
        Some(Value::Array(values)) if values.is_empty() => NONE.to_string(),
        Some(Value::Array(values)) => {
            let words = values.iter().map(|value| value.as_str().unwrap_or_default());
            printable(&words.collect::<Vec<_>>().join(", "))
        }
        Some(other) => other.to_string(),
    }
}

/// The text for null and for an empty array.
const NONE: &str = "-";

/// Formats a record as one line per column. Leaves out a column that the record lacks, and a column
/// with an empty string.
pub fn record_text(
    columns: impl IntoIterator<Item = Column>,
    record: &impl Serialize,
) -> serde_json::Result<String> {
    let record = serde_json::to_value(record)?;
    let cells = columns.into_iter().map(|column| (column.name, cell(&record, column.name)));
    let lines = cells.filter(|(_, value)| !value.is_empty());
    let lines: Vec<_> = lines.map(|(name, value)| format!("{name:<13}{value}")).collect();
    Ok(lines.join("\n"))
}

/// Writes a table as text. Long lines are not wrapped.
pub struct TextTable<'a> {
    out: &'a mut dyn Write,
    columns: Vec<Column>,
    is_wide: bool,
    rows: Vec<Vec<String>>,
    has_written: bool,
}

impl<'a> TextTable<'a> {
    /// Begins a table. Unless `is_wide` is true, the table shortens times and hides empty columns.
    pub fn new(out: &'a mut dyn Write, columns: Vec<Column>, is_wide: bool) -> TextTable<'a> {
        TextTable { out, columns, is_wide, rows: Vec::new(), has_written: false }
    }

    /// Adds a row with the record's values. Writes nothing until a block of rows is complete.
    pub fn add(&mut self, record: &Value) -> io::Result<()> {
        let format = |column: &Column| {
            let cell = cell(record, column.name);
            if self.is_wide { cell } else { column.shorten(cell) }
        };
        self.rows.push(self.columns.iter().map(format).collect());
        if self.rows.len() == BLOCK_ROWS { self.write_block() } else { Ok(()) }
    }

    /// Writes the rows that are not yet written. A table without rows still gets its column names.
    pub fn finish(mut self) -> io::Result<()> {
        if self.rows.is_empty() && self.has_written { Ok(()) } else { self.write_block() }
    }

    fn write_block(&mut self) -> io::Result<()> {
        let rows = mem::take(&mut self.rows);
        let is_empty = |number| rows.iter().all(|row| row.get(number).is_none_or(String::is_empty));
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.columns.iter().map(|column| column.name)).add_rows(&rows);
        for (number, (column, definition)) in table.column_iter_mut().zip(&self.columns).enumerate()
        {
            column.set_padding((0, GAP));
            if !self.is_wide && !rows.is_empty() && is_empty(number) {
                column.set_constraint(ColumnConstraint::Hidden);
            }
            if definition.kind == Kind::Number {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.has_written = true;
        table.lines().try_for_each(|line| writeln!(self.out, "{}", line.trim_end()))
    }
}

#[cfg(test)]
mod tests;
