//! The outcome of a command, and its exit code.

/// Ordered from best to worst, so that the outcome of several checks is the
/// greatest of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything agrees: exit code 0.
    Clean,
    /// Two things do not agree: exit code 1.
    Drift,
    /// The command could not run, because something is missing or broken: exit
    /// code 2.
    CouldNotRun,
}

impl Outcome {
    /// The exit code.
    pub const fn code(self) -> u8 {
        self as u8
    }
}
