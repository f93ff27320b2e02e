//! Positions in a file, as an editor numbers them.

use std::fmt;

/// The start of a record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1. If each line is one record, the column is 0 and not shown.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "line {}", self.line),
            column => write!(f, "line {}, column {column}", self.line),
        }
    }
}

/// Converts ascending byte offsets to positions. It reads each byte once.
pub struct PositionCounter<'a> {
    rest: std::slice::Iter<'a, u8>,
    offset: usize,
    position: Position,
}

impl<'a> PositionCounter<'a> {
    pub fn new(content: &'a [u8]) -> PositionCounter<'a> {
        let position = Position { line: 1, column: 1 };
        PositionCounter { rest: content.iter(), offset: 0, position }
    }

    /// Returns the position of the character at this offset.
    pub fn position_at(&mut self, offset: usize) -> Position {
        for byte in self.rest.by_ref().take(offset.saturating_sub(self.offset)) {
            match byte {
                b'\n' => self.position = Position { line: self.position.line + 1, column: 1 },
                // UTF-8 continuation bytes are not columns.
                0x80..=0xBF => {}
                _ => self.position.column += 1,
            }
        }
        self.offset = self.offset.max(offset);
        self.position
    }
}
