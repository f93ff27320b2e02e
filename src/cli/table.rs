//! A table as text: a line of column names, then one line per record.

use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::mem;
use unicode_width::UnicodeWidthStr;

/// How many rows are laid out together: enough that column widths settle, few
/// enough that a long table starts at once.
const ROWS_AT_ONCE: usize = 1_000;

/// Between columns.
const GAP: &str = "  ";

/// What the cells of a column hold, which decides how they are shortened and aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    /// RFC 3339 in UTC, of which the day is shown.
    Day,
    /// RFC 3339 in UTC, shown to the minute.
    Minute,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    kind: Kind,
}

impl Column {
    /// A column of text.
    pub const fn text(name: &'static str) -> Column {
        Column { name, kind: Kind::Text }
    }

    /// A column of numbers, aligned right.
    pub const fn number(name: &'static str) -> Column {
        Column { name, kind: Kind::Number }
    }

    /// A column of times, of which the day is shown.
    pub const fn day(name: &'static str) -> Column {
        Column { name, kind: Kind::Day }
    }

    /// A column of times, shown to the minute.
    pub const fn minute(name: &'static str) -> Column {
        Column { name, kind: Kind::Minute }
    }

    fn short(&self, cell: String) -> String {
        let is_time = cell.len() >= 20 && cell.as_bytes().get(10) == Some(&b'T');
        match (self.kind, cell.get(..10), cell.get(11..16)) {
            (Kind::Day, Some(day), _) if is_time => day.to_string(),
            (Kind::Minute, Some(day), Some(minute)) if is_time => format!("{day} {minute}Z"),
            _ => cell,
        }
    }
}

/// What a record has in a column of this name.
fn cell(record: &Value, name: &str) -> String {
    // A store may hold names that an older version took.
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

/// What stands for a value that is not set.
const NONE: &str = "-";

/// A record as text: a line for each column in which it has a value.
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

/// What a table shows, in lines of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All columns with whole cells.
    Wide,
    /// Short dates, and no empty column.
    Short,
}

/// A table that is being written.
pub struct TextTable<'a> {
    out: &'a mut dyn Write,
    columns: Vec<Column>,
    extent: Extent,
    rows: Vec<Vec<String>>,
    /// How wide the columns were in the lines before; 0 if one is left out.
    widths: Option<Vec<usize>>,
}

impl<'a> TextTable<'a> {
    /// An empty table.
    pub fn new(out: &'a mut dyn Write, columns: Vec<Column>, extent: Extent) -> TextTable<'a> {
        TextTable { out, columns, extent, rows: Vec::new(), widths: None }
    }

    /// Adds a row: what this record has under the names of the columns.
    pub fn add(&mut self, record: &Value) -> io::Result<()> {
        let shown = |column: &Column| {
            let cell = cell(record, column.name);
            if self.extent == Extent::Short { column.short(cell) } else { cell }
        };
        self.rows.push(self.columns.iter().map(shown).collect());
        if self.rows.len() == ROWS_AT_ONCE { self.write(false) } else { Ok(()) }
    }

    /// Writes the rest, and the names even if there was no row.
    pub fn finish(mut self) -> io::Result<()> {
        if self.widths.is_some() && self.rows.is_empty() { Ok(()) } else { self.write(true) }
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        let rows = mem::take(&mut self.rows);
        let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index));
        let before = self.widths.take();
        // The rows that follow may hold what these lack.
        let leaves_out_empty = is_last && !rows.is_empty() && self.extent == Extent::Short;
        let width = |(index, column): (usize, &Column)| {
            let widest = cells(index).map(|cell| cell.width()).max().unwrap_or(0);
            match before.as_ref().and_then(|before| before.get(index)) {
                Some(0) => 0,
                Some(width) => widest.max(*width),
                None if leaves_out_empty && widest == 0 => 0,
                None => widest.max(column.name.width()),
            }
        };
        let widths: Vec<usize> = self.columns.iter().enumerate().map(width).collect();
        if before.is_none() {
            let names = self.columns.iter().map(|column| column.name);
            write_line(self.out, &self.columns, &widths, names)?;
        }
        for row in &rows {
            write_line(self.out, &self.columns, &widths, row.iter().map(String::as_str))?;
        }
        self.widths = Some(widths);
        Ok(())
    }
}

fn write_line<'c>(
    out: &mut dyn Write,
    columns: &[Column],
    widths: &[usize],
    cells: impl Iterator<Item = &'c str>,
) -> io::Result<()> {
    let mut line = String::new();
    for ((column, width), cell) in columns.iter().zip(widths).zip(cells) {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match column.kind {
            _ if *width == 0 => continue,
            Kind::Number => line.extend([&padding, cell, GAP]),
            _ => line.extend([cell, &padding, GAP]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests;
