//! What is claimed of a release, and whether it held.

use std::io::{self, Write};

/// Claims, printed as they are tried.
pub struct Claims<'o> {
    /// Where to.
    pub out: &'o mut dyn Write,
    /// Whether one did not hold.
    pub failed: bool,
}

impl Claims<'_> {
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
            self.failed = true;
            writeln!(self.out, "✗ {claim}\n  {}", otherwise())?;
        }
        self.out.flush()
    }
}
