//! Writes a list of records, as a table or as a JSON array with one element per line. JSON is
//! written record by record, and a table in blocks of rows. So a list of a million orders needs
//! little memory.

use super::table::TextTable;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Args, Debug)]
pub struct ListingArgs {
    /// Show all columns of the table, and do not shorten times
    #[arg(long)]
    pub wide: bool,
}

pub enum Listing<'a> {
    Json {
        out: &'a mut dyn Write,
        /// The text to write before the next element: `[` or a comma.
        before: &'static str,
        /// Becomes true with the first element. A later failure is then not printed as JSON,
        /// because the array has already begun.
        has_shown: &'a mut bool,
    },
    Table(TextTable<'a>),
}

impl<'a> Listing<'a> {
    /// Begins a JSON array. Writes nothing yet.
    pub fn json(out: &'a mut dyn Write, has_shown: &'a mut bool) -> Listing<'a> {
        Listing::Json { out, before: "[\n", has_shown }
    }

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

    /// Writes the end of the list: the closing bracket, or the rows that are not written yet.
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

    fn list_as_json(numbers: &[u8]) -> String {
        let (mut out, mut has_shown) = (Vec::new(), false);
        let mut listing = Listing::json(&mut out, &mut has_shown);
        for number in numbers {
            listing.add(number).unwrap();
        }
        listing.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn arrays_of_any_length_are_complete() {
        assert_eq!(list_as_json(&[]), "[]\n");
        assert_eq!(list_as_json(&[1]), "[\n1\n]\n");
        assert_eq!(list_as_json(&[1, 2]), "[\n1,\n2\n]\n");
    }
}
