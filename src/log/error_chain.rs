//! Displays an error and its causes as one text, for log lines and warnings.

use std::error::Error;
use std::fmt;

/// Displays an error and its causes, separated by colons. Log lines use `"error" =>
/// %ErrorChain(&error)`, which needs no intermediate string.
#[derive(Clone, Copy, Debug)]
pub struct ErrorChain<'a>(pub &'a dyn Error);

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        self.0.source().map_or(Ok(()), |cause| write!(f, ": {}", ErrorChain(cause)))
    }
}
