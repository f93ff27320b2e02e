//! Places of a document that are refused: the problem, and the fix.

use std::fmt;

/// A place of a document from which no code can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The JSON pointer to the place.
    pub pointer: String,
    /// Problem there.
    pub problem: String,
    /// Text to write instead.
    pub fix: String,
}

impl Refusal {
    /// At the place that this pointer leads to.
    pub fn new(pointer: &str, problem: impl Into<String>, fix: impl Into<String>) -> Refusal {
        Refusal { pointer: pointer.to_string(), problem: problem.into(), fix: fix.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "(the whole document)" } else { &self.pointer };
        write!(f, "{pointer}: {}; {}", self.problem, self.fix)
    }
}

/// All places of a document from which no code can be made, in its order.
#[derive(Debug, thiserror::Error)]
pub struct Refusals(pub Vec<Refusal>);

impl fmt::Display for Refusals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{refusal}")?;
        }
        Ok(())
    }
}
