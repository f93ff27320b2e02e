//! What is claimed of the image, and whether it held.

use std::io::{self, Write};

/// Claims, printed as they are tried.
pub struct Claims<'o> {
    out: &'o mut dyn Write,
    failed: usize,
}

impl<'o> Claims<'o> {
    /// None yet.
    pub fn new(out: &'o mut dyn Write) -> Claims<'o> {
        Claims { out, failed: 0 }
    }

    /// Prints a claim, and what contradicts it if it does not hold.
    pub fn add(
        &mut self,
        claim: &str,
        holds: bool,
        otherwise: impl FnOnce() -> String,
    ) -> io::Result<()> {
        if holds {
            writeln!(self.out, "✓ {claim}")?;
        } else {
            self.failed += 1;
            writeln!(self.out, "✗ {claim}\n  {}", otherwise())?;
        }
        self.out.flush()
    }

    /// The exit status.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.failed > 0)
    }
}
