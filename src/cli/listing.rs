//! A list of records: a table, or a JSON array with one element per line. Each
//! record is written at once, so a million orders need no memory.

use super::table::TextTable;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};

/// Arguments of the commands that list.
#[derive(Args, Debug)]
pub struct ListingArgs {
    /// Show all columns of the table, with whole cells
    #[arg(long)]
    pub wide: bool,
}

/// A list that is being written.
pub enum Listing<'a> {
    /// A JSON array.
    Json {
        /// The output.
        out: &'a mut dyn Write,
        /// What precedes the next element.
        before: &'static str,
        /// Whether something is written by now.
        has_shown: &'a mut bool,
    },
    /// A table.
    Table(TextTable<'a>),
}

impl<'a> Listing<'a> {
    /// An empty array.
    pub fn json(out: &'a mut dyn Write, has_shown: &'a mut bool) -> Listing<'a> {
        Listing::Json { out, before: "[\n", has_shown }
    }

    /// Adds a record, as JSON or as a row.
    pub fn add(&mut self, record: &impl Serialize) -> io::Result<()> {
        match self {
            Listing::Json { out, before, has_shown } => {
                **has_shown = true;
                out.write_all(before.as_bytes())?;
                *before = ",\n";
                Ok(serde_json::to_writer(&mut **out, record)?)
            }
            Listing::Table(table) => table.add(&serde_json::to_value(record)?),
        }
    }

    /// Writes the rest.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Listing::Json { out, before: "[\n", .. } => out.write_all(b"[]\n"),
            Listing::Json { out, .. } => out.write_all(b"\n]\n"),
            Listing::Table(table) => table.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(numbers: &[u8]) -> String {
        let (mut out, mut has_shown) = (Vec::new(), false);
        let mut listing = Listing::json(&mut out, &mut has_shown);
        for number in numbers {
            listing.add(number).unwrap();
        }
        listing.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_array_is_whole_whatever_its_length() {
        assert_eq!(listed(&[]), "[]\n");
        assert_eq!(listed(&[1]), "[\n1\n]\n");
        assert_eq!(listed(&[1, 2]), "[\n1,\n2\n]\n");
    }
}
