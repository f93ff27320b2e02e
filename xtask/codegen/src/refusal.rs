//! The generator refuses parts of a document if it cannot generate code for them.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub pointer: String,
    pub problem: String,
    pub fix: String,
}

impl Refusal {
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

/// The refusals, in the order in which their places appear in the document.
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
