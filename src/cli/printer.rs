//! The output of a command: text for people, or JSON for programs.

use super::listing::Listing;
use super::table::{Column, TextTable};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};

/// Prints a warning to standard error, because a program may parse standard output. If standard
/// error is closed, the command continues without the warning.
pub fn warn(text: impl Display) {
    const WARNING: Style = AnsiColor::Yellow.on_default().bold();
    let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {text}");
}

pub struct Printer<'a> {
    out: &'a mut dyn Write,
    json: bool,
    has_shown: bool,
}

impl<'a> Printer<'a> {
    pub fn new(out: &'a mut dyn Write, json: bool) -> Printer<'a> {
        Printer { out, json, has_shown: false }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn has_shown(&self) -> bool {
        self.has_shown
    }

    pub fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    /// Prints one record: one line of JSON for programs, or `text` for people.
    pub fn show(&mut self, json: &impl Serialize, text: impl Display) -> io::Result<()> {
        self.has_shown = true;
        if self.json {
            serde_json::to_writer(&mut *self.out, json)?;
            writeln!(self.out)
        } else {
            writeln!(self.out, "{text}")
        }
    }

    /// Writes text that is the same with and without `--json`.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Begins a list of records. `wide` affects only tables. A wide table has all columns and does
    /// not shorten times.
    pub fn listing(&mut self, columns: Vec<Column>, wide: bool) -> Listing<'_> {
        if self.json {
            Listing::json(self.out, &mut self.has_shown)
        } else {
            Listing::Table(TextTable::new(self.out, columns, wide))
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
