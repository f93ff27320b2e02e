//! What a run measured, and what did not hold.

use std::io::Write;
use std::time::Duration;

/// The figures of a run and its violations.
#[derive(Debug, Default)]
pub struct Report {
    figures: Vec<String>,
    violations: Vec<String>,
    /// Whether there is a violation that no stall of the machine explains.
    is_certain: bool,
    /// Times with what they may be, judged at the end, when the longest stall is known.
    times: Vec<(String, Duration, Duration)>,
}

impl Report {
    /// Notes a figure.
    pub fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// Notes a time, which must not exceed its bound by more than the machine stalled.
    pub fn time(&mut self, what: impl Into<String>, taken: Duration, bound: Duration) {
        self.times.push((what.into(), taken, bound));
    }

    /// Something that must hold, whatever the machine did, and what is said if it does not.
    pub fn expect(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        self.is_certain |= !holds;
        self.expect_unless_stalled(holds, otherwise);
    }

    /// Something that must hold unless the machine stood still: a request was answered in time,
    /// and not 503.
    pub fn expect_unless_stalled(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(otherwise());
        }
    }

    /// Whether everything held so far, and each time is within its bound.
    pub fn holds(&self) -> bool {
        let are_in_time = self.times.iter().all(|(_, taken, bound)| taken <= bound);
        self.violations.is_empty() && are_in_time
    }

    /// What did not hold so far, apart from times.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Prints everything.
    pub fn write(&mut self, stall: Duration, out: &mut dyn Write) -> std::io::Result<()> {
        for (what, taken, bound) in std::mem::take(&mut self.times) {
            self.figures.push(format!("{what}: {taken:.2?} (at most {bound:?})"));
            if taken > bound + stall {
                self.violations.push(format!("{what} took {taken:.2?}, more than {bound:?}"));
            }
        }
        for figure in &self.figures {
            writeln!(out, "  {figure}")?;
        }
        writeln!(out, "  the machine's longest stall: {stall:.2?}")?;
        for violation in &self.violations {
            writeln!(out, "violation: {violation}")?;
        }
        Ok(())
    }

    /// What was found, once times are judged.
    pub fn verdict(&self) -> Verdict {
        match (self.violations.is_empty(), self.is_certain) {
            (true, _) => Verdict::Holds,
            (false, false) => Verdict::Violated,
            (false, true) => Verdict::Contradicted,
        }
    }
}

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held.
    Holds,
    /// Something did not, which a stall of the machine may explain.
    Violated,
    /// Something did not, which no stall explains.
    Contradicted,
}
