//! Positions in a file, as an editor numbers them.

use std::fmt;

/// Where a record begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters. 0, and not shown, where a line holds one record.
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

/// Turns ascending byte offsets into positions; it reads each byte once.
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

    /// The position of the character at this offset.
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
