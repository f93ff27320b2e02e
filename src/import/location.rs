//! Numbers lines and columns in a file as editors do.

use std::fmt;

/// The start of a record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1. In CSV, JSON lines and lists of ids, it is 0 and not
    /// shown.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "line {}", self.line),
            column => write!(f, "line {}, column {column}", self.line),
        }
    }
}

/// Converts byte offsets to locations. The offsets must ascend, so that each byte is read only
/// once.
pub struct LocationCounter<'a> {
    rest: std::slice::Iter<'a, u8>,
    offset: usize,
    location: Location,
}

impl<'a> LocationCounter<'a> {
    pub fn new(content: &'a [u8]) -> LocationCounter<'a> {
        let location = Location { line: 1, column: 1 };
        LocationCounter { rest: content.iter(), offset: 0, location }
    }

    /// Returns the location of the character at this offset. The offset must not be lower than in
    /// the previous call.
    pub fn location_at(&mut self, offset: usize) -> Location {
        for byte in self.rest.by_ref().take(offset.saturating_sub(self.offset)) {
            match byte {
                b'\n' => self.location = Location { line: self.location.line + 1, column: 1 },
                // UTF-8 continuation bytes are not columns.
                0x80..=0xBF => {}
                _ => self.location.column += 1,
            }
        }
        self.offset = self.offset.max(offset);
        self.location
    }
}
