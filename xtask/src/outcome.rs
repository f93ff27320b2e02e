//! Outcomes of the developer's commands, with their exit codes.

/// The outcome of a command. Outcomes are ordered from best to worst, so the outcome of several
/// checks is the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// No problems: exit code 0.
    Clean,
    /// Problems were found: exit code 1.
    Drift,
    /// The command could not run, because something is missing or broken: exit code 2.
    CouldNotRun,
}

impl Outcome {
    pub const fn code(self) -> u8 {
        self as u8
    }
}
