//! What a command came to, and the exit code that says so.

use std::process::ExitCode;

/// What a command came to. Ordered from best to worst, so that the outcome of
/// several checks is the greatest of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything agrees: exit code 0.
    Clean,
    /// Something does not agree with something else: exit code 1.
    Drift,
    /// The question could not be asked, because a file is missing or broken:
    /// exit code 2.
    CouldNotRun,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Clean => ExitCode::SUCCESS,
            Outcome::Drift => ExitCode::from(1),
            Outcome::CouldNotRun => ExitCode::from(2),
        }
    }
}
