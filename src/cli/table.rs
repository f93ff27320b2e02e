//! A table as text: a line of column names, then one line per record. A column may be cut or
//! left out where the terminal is narrow, and an id never is.

use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::mem;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How many rows are laid out together: enough that column widths settle, few
/// enough that a long table starts at once.
const ROWS_AT_ONCE: usize = 1_000;

/// Spaces between columns.
const GAP: usize = 2;

/// To what width a name is cut before a column is left out.
const SHORTEST_NAME: usize = 20;

/// What stands where the rest of a name was cut.
const CUT: &str = "…";

/// What the cells of a column hold, which decides how they are shortened and aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    /// Text of any length.
    Name,
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
    /// Columns with a lower rank are left out first; none is always shown.
    rank: Option<u8>,
}

impl Column {
    const fn of(name: &'static str, kind: Kind) -> Column {
        Column { name, kind, rank: None }
    }

    /// A column of text that is never cut, such as ids.
    pub const fn text(name: &'static str) -> Column {
        Column::of(name, Kind::Text)
    }

    /// A column of numbers, aligned right.
    pub const fn number(name: &'static str) -> Column {
        Column::of(name, Kind::Number)
    }

    /// A column of names, which a narrow terminal cuts.
    pub const fn name_of(name: &'static str) -> Column {
        Column::of(name, Kind::Name)
    }

    /// A column of times, of which the day is shown.
    pub const fn day(name: &'static str) -> Column {
        Column::of(name, Kind::Day)
    }

    /// A column of times, shown to the minute.
    pub const fn minute(name: &'static str) -> Column {
        Column::of(name, Kind::Minute)
    }

    /// The same, left out of a narrow terminal before those of a higher rank.
    pub const fn left_out(self, rank: u8) -> Column {
        Column { rank: Some(rank), ..self }
    }

    fn shown(&self, cell: String) -> String {
        let is_time = cell.len() >= 20 && cell.as_bytes().get(10) == Some(&b'T');
        match (self.kind, cell.get(..10), cell.get(11..16)) {
            (Kind::Day, Some(day), _) if is_time => day.to_string(),
            (Kind::Minute, Some(day), Some(minute)) if is_time => format!("{day} {minute}Z"),
            // A store may hold names that an older version took.
            _ if cell.contains(char::is_control) => cell.replace(char::is_control, "\u{fffd}"),
            _ => cell,
        }
    }
}

/// What a record has in a column of this name.
fn cell(record: &Value, name: &str) -> String {
    match record.get(name) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) => NONE.to_string(),
        Some(Value::Array(values)) if values.is_empty() => NONE.to_string(),
        Some(Value::Array(values)) => {
            let words = values.iter().map(|value| value.as_str().unwrap_or_default());
            words.collect::<Vec<_>>().join(", ")
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

/// How wide a table may be and what it shows.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// All columns with whole cells, in lines of any length.
    Wide,
    /// Short dates, and no empty column; at most this wide, if it is known.
    Short(Option<usize>),
}

/// A table that is being written.
pub struct TextTable<'a> {
    out: &'a mut dyn Write,
    columns: Vec<Column>,
    extent: Extent,
    rows: Vec<Vec<String>>,
    /// What the lines before were laid out in.
    layout: Option<Layout>,
}

/// The width of each column: none if it is left out.
type Layout = Vec<Option<usize>>;

impl<'a> TextTable<'a> {
    /// An empty table.
    pub fn new(out: &'a mut dyn Write, columns: Vec<Column>, extent: Extent) -> TextTable<'a> {
        TextTable { out, columns, extent, rows: Vec::new(), layout: None }
    }

    /// Adds a row: what this record has under the names of the columns.
    pub fn add(&mut self, record: &Value) -> io::Result<()> {
        let shown = |column: &Column| match self.extent {
            Extent::Wide => cell(record, column.name),
            Extent::Short(_) => column.shown(cell(record, column.name)),
        };
        self.rows.push(self.columns.iter().map(shown).collect());
        if self.rows.len() == ROWS_AT_ONCE { self.write(false) } else { Ok(()) }
    }

    /// Writes the rest, and the names even if there was no row.
    pub fn finish(mut self) -> io::Result<()> {
        if self.layout.is_some() && self.rows.is_empty() { Ok(()) } else { self.write(true) }
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        let rows = mem::take(&mut self.rows);
        let before = self.layout.take();
        let layout = self.layout(before.as_ref(), &rows, is_last);
        if before.is_none() {
            let names = self.columns.iter().map(|column| column.name);
            write_line(self.out, &self.columns, &layout, names)?;
        }
        for row in &rows {
            write_line(self.out, &self.columns, &layout, row.iter().map(String::as_str))?;
        }
        self.layout = Some(layout);
        Ok(())
    }

    /// The widths for these rows: a column is at least as wide as in the rows before, and none
    /// comes or goes.
    fn layout(&self, before: Option<&Layout>, rows: &[Vec<String>], is_last: bool) -> Layout {
        let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index));
        let widest = |index: usize| cells(index).map(|cell| cell.width()).max().unwrap_or(0);
        if let Some(before) = before {
            let grown = |(index, width): (usize, &Option<usize>)| {
                width.map(|width| width.max(widest(index)))
            };
            let mut layout: Layout = before.iter().enumerate().map(grown).collect();
            let excess = total(&layout).saturating_sub(self.limit().unwrap_or(usize::MAX));
            self.cut_names(&mut layout, excess);
            return layout;
        }
        // The rows that follow may hold what these lack.
        let leaves_out_empty =
            is_last && !rows.is_empty() && matches!(self.extent, Extent::Short(_));
        let natural = |(index, column): (usize, &Column)| {
            let is_empty = leaves_out_empty && widest(index) == 0;
            (!is_empty).then(|| column.name.width().max(widest(index)))
        };
        let layout: Layout = self.columns.iter().enumerate().map(natural).collect();
        match self.limit() {
            Some(limit) => self.fitted(layout, limit),
            None => layout,
        }
    }

    /// Cuts names, then leaves columns out, until the table fits.
    fn fitted(&self, mut layout: Layout, limit: usize) -> Layout {
        loop {
            let excess = total(&layout).saturating_sub(limit);
            let spare = self.names(&mut layout).map(|width| width.saturating_sub(SHORTEST_NAME));
            if excess <= spare.sum() || !self.leave_one_out(&mut layout) {
                self.cut_names(&mut layout, excess);
                return layout;
            }
        }
    }

    /// Cuts the widest names by this much in all, and none to less than its shortest.
    fn cut_names(&self, layout: &mut Layout, excess: usize) {
        for _ in 0..excess {
            match self.names(layout).max() {
                Some(widest) if *widest > SHORTEST_NAME => *widest -= 1,
                _ => return,
            }
        }
    }

    /// The widths of the columns of names.
    fn names<'l>(&self, layout: &'l mut Layout) -> impl Iterator<Item = &'l mut usize> {
        let columns = self.columns.iter().zip(layout);
        columns
            .filter(|(column, _)| column.kind == Kind::Name)
            .filter_map(|(_, width)| width.as_mut())
    }

    /// Leaves out the shown column of the lowest rank, if there is one.
    fn leave_one_out(&self, layout: &mut Layout) -> bool {
        let shown = self.columns.iter().zip(layout.iter_mut()).filter(|(_, width)| width.is_some());
        let lowest = shown.filter_map(|(column, width)| Some((column.rank?, width)));
        match lowest.min_by_key(|(rank, _)| *rank) {
            Some((_, width)) => width.take().is_some(),
            None => false,
        }
    }

    /// How wide a line may be.
    const fn limit(&self) -> Option<usize> {
        match self.extent {
            Extent::Short(limit) => limit,
            Extent::Wide => None,
        }
    }
}

/// The width of a line.
fn total(layout: &Layout) -> usize {
    let shown = layout.iter().flatten();
    shown.clone().sum::<usize>() + GAP * shown.count().saturating_sub(1)
}

fn write_line<'c>(
    out: &mut dyn Write,
    columns: &[Column],
    layout: &Layout,
    cells: impl Iterator<Item = &'c str>,
) -> io::Result<()> {
    let mut line = String::new();
    for ((column, width), cell) in columns.iter().zip(layout).zip(cells) {
        let Some(width) = width else { continue };
        let cell = if column.kind == Kind::Name { cut(cell, *width) } else { cell.to_string() };
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match column.kind {
            Kind::Number => line.extend([padding, cell]),
            _ => line.extend([cell, padding]),
        }
        line.push_str(&" ".repeat(GAP));
    }
    writeln!(out, "{}", line.trim_end())
}

/// The beginning of a text that is too wide.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut left = width.saturating_sub(CUT.width());
    let fits = |letter: &char| {
        let width = letter.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let beginning: String = text.chars().take_while(fits).collect();
    format!("{}{CUT}", beginning.trim_end())
}

#[cfg(test)]
mod tests;
