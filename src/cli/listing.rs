//! A listing: a table, or a JSON array with an element a line. It is written as
//! it comes, so that a million orders need no memory.

use super::table::Table;
use serde::Serialize;
use std::io::{self, Write};

/// A listing that is being written.
pub enum Listing<'a> {
    /// A JSON array.
    Json {
        /// Where it goes.
        out: &'a mut dyn Write,
        /// What the next element has before it.
        before: &'static str,
    },
    /// A table.
    Table(Table<'a>),
}

impl<'a> Listing<'a> {
    /// An array with nothing in it yet.
    pub fn json(out: &'a mut dyn Write) -> Listing<'a> {
        Listing::Json { out, before: "[\n" }
    }

    /// Adds one: what programs read, and the cells that people do.
    pub fn add(
        &mut self,
        record: &impl Serialize,
        cells: impl FnOnce() -> Vec<String>,
    ) -> io::Result<()> {
        match self {
            Listing::Json { out, before } => {
                out.write_all(before.as_bytes())?;
                *before = ",\n";
                Ok(serde_json::to_writer(&mut **out, record)?)
            }
            Listing::Table(table) => table.add(cells()),
        }
    }

    /// Writes what is left.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Listing::Json { out, before: "[\n" } => out.write_all(b"[]\n"),
            Listing::Json { out, .. } => out.write_all(b"\n]\n"),
            Listing::Table(table) => table.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(numbers: &[u8]) -> String {
        let mut out = Vec::new();
        let mut listing = Listing::json(&mut out);
        for number in numbers {
            listing.add(number, Vec::new).unwrap();
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
