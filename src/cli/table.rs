//! A table as text: a line of column names, then one line per record.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};
use std::io::{self, Write};
use std::mem;

/// How many rows are laid out together: enough that column widths settle, few
/// enough that a long table starts at once.
const ROWS_AT_ONCE: usize = 1_000;

/// Spaces between columns.
const GAP: u16 = 2;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    alignment: CellAlignment,
}

impl Column {
    /// A column of text, aligned left.
    pub const fn text(name: &'static str) -> Column {
        Column { name, alignment: CellAlignment::Left }
    }

    /// A column of numbers, aligned right.
    pub const fn number(name: &'static str) -> Column {
        Column { name, alignment: CellAlignment::Right }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// A table that is being written.
pub struct TextTable<'a> {
    out: &'a mut dyn Write,
    columns: Vec<Column>,
    /// The terminal's width.
    width: Option<u16>,
    /// The width of each column so far.
    widths: Vec<u16>,
    rows: Vec<Vec<String>>,
    begun: bool,
}

impl<'a> TextTable<'a> {
    /// An empty table for a terminal of this width.
    pub fn new(out: &'a mut dyn Write, columns: Vec<Column>, width: Option<u16>) -> TextTable<'a> {
        let widths = vec![0; columns.len()];
        TextTable { out, columns, width, widths, rows: Vec::new(), begun: false }
    }

    /// Adds a row.
    pub fn add(&mut self, cells: Vec<String>) -> io::Result<()> {
        self.rows.push(cells);
        if self.rows.len() == ROWS_AT_ONCE { self.write() } else { Ok(()) }
    }

    /// Writes the rest, and the names even if there was no row.
    pub fn finish(mut self) -> io::Result<()> {
        if self.begun && self.rows.is_empty() { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        // Without a terminal, lines have any length.
        table.set_width(self.width.unwrap_or(u16::MAX));
        if !mem::replace(&mut self.begun, true) {
            table.set_header(self.columns.iter().map(|column| column.name));
        }
        table.add_rows(self.rows.drain(..));
        self.set_columns(&mut table);
        for line in table.lines() {
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// A column is at least as wide as in the rows before, unless the terminal is
    /// too narrow for all columns.
    fn set_columns(&mut self, table: &mut comfy_table::Table) {
        for (width, now) in self.widths.iter_mut().zip(table.column_max_content_widths()) {
            *width = (*width).max(now + GAP);
        }
        let all = self.widths.iter().fold(0_u16, |all, width| all.saturating_add(*width));
        let fits = self.width.is_none_or(|width| all <= width);
        let settings = self.columns.iter().zip(&self.widths);
        for (column, (setting, width)) in table.column_iter_mut().zip(settings) {
            column.set_padding((0, GAP));
            column.set_cell_alignment(setting.alignment);
            if fits {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(rows: &[[&str; 2]], width: Option<u16>) -> String {
        let mut out = Vec::new();
        let columns = vec![Column::number("id"), Column::text("name")];
        let mut table = TextTable::new(&mut out, columns, width);
        for row in rows {
            table.add(row.iter().map(ToString::to_string).collect()).unwrap();
        }
        table.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_align_right_and_text_left() {
        assert_eq!(
            written(&[["7", "Rex"], ["-1000", "Minka"]], None),
            "   id  name\n    7  Rex\n-1000  Minka\n"
        );
    }

    #[test]
    fn without_rows_the_names_are_there() {
        assert_eq!(written(&[], None), "id  name\n");
    }

    #[test]
    fn a_long_table_names_its_columns_once_and_keeps_them_in_place() {
        let mut rows = vec![["1000000", "Rex"]; ROWS_AT_ONCE];
        rows.push(["7", "Minka"]);
        let text = written(&rows, None);
        assert_eq!(text.matches("name").count(), 1);
        assert!(text.ends_with("\n1000000  Rex\n      7  Minka\n"), "{text}");
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let text = written(&[["7", "a name of quite some length"]], Some(20));
        assert!(text.lines().all(|line| line.chars().count() <= 20), "{text}");
    }

    #[test]
    fn no_terminal_no_limit() {
        let name = "x".repeat(500);
        let text = written(&[["7", &name]], None);
        assert_eq!(text.lines().count(), 2);
    }
}
