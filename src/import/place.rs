//! Places in a file, as an editor numbers them.

use std::fmt;

/// Where a record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters. It is shown only where a line may hold several
    /// records: elsewhere it is 0.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "line {}", self.line),
            column => write!(f, "line {}, column {column}", self.line),
        }
    }
}

/// Turns offsets, asked for in ascending order, into places: each octet is
/// looked at once.
pub struct Lines<'a> {
    content: &'a [u8],
    offset: usize,
    place: Place,
}

impl<'a> Lines<'a> {
    pub fn new(content: &'a [u8]) -> Lines<'a> {
        Lines { content, offset: 0, place: Place { line: 1, column: 1 } }
    }

    /// The place of the character at this offset.
    pub fn place_at(&mut self, offset: usize) -> Place {
        for octet in self.content.get(self.offset..offset).unwrap_or_default() {
            match octet {
                b'\n' => self.place = Place { line: self.place.line + 1, column: 1 },
                // Octets that continue a character are no column of their own.
                0x80..=0xBF => {}
                _ => self.place.column += 1,
            }
        }
        self.offset = self.offset.max(offset);
        self.place
    }

    /// The place of the line that holds this offset.
    pub fn line_at(&mut self, offset: usize) -> Place {
        Place { column: 0, ..self.place_at(offset) }
    }
}
